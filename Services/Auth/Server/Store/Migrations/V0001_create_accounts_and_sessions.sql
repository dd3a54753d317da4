-- The accounts of Roost's own application. A customer's people have none: they exist by their sessions.
CREATE TABLE accounts (
    user_id uuid NOT NULL,
    username text,
    full_name text,
    email text,
    email_verified boolean NOT NULL DEFAULT false,
    -- Argon2id in PHC form, which carries its parameters and its salt.
    password_hash text,
    is_anonymous boolean NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT accounts_pkey PRIMARY KEY (user_id),
    CONSTRAINT accounts_username_length CHECK (char_length(username) BETWEEN 1 AND 64),
    CONSTRAINT accounts_full_name_length CHECK (char_length(full_name) BETWEEN 1 AND 100),
    CONSTRAINT accounts_email_length CHECK (char_length(email) BETWEEN 3 AND 254),
    CONSTRAINT accounts_verified_email CHECK (email IS NOT NULL OR NOT email_verified),
    CONSTRAINT accounts_anonymous_is_bare CHECK (NOT is_anonymous OR (username IS NULL AND password_hash IS NULL))
);

-- What one signs in by: a username, or an e-mail address from its verification on. The two share one key, since only
-- an address has an @. Unique here and not in accounts, so that either table can be spread by its key.
CREATE TABLE sign_in_names (
    -- After NFKC case folding; bytes compare as the text does.
    name text COLLATE "C" NOT NULL,
    user_id uuid NOT NULL,
    CONSTRAINT sign_in_names_pkey PRIMARY KEY (name),
    CONSTRAINT sign_in_names_user_id_fkey FOREIGN KEY (user_id) REFERENCES accounts (user_id) ON DELETE CASCADE
);

CREATE INDEX sign_in_names_user_id_idx ON sign_in_names (user_id);

-- A device signed in. An ended session has no row; revocations remembers it while a jwt of it may live.
CREATE TABLE sessions (
    session_id uuid NOT NULL,
    application text NOT NULL,
    user_id text NOT NULL,
    device_id text,
    user_agent text,
    created_at timestamptz NOT NULL,
    last_seen_at timestamptz NOT NULL,
    -- However often it is refreshed.
    expires_at timestamptz NOT NULL,
    CONSTRAINT sessions_pkey PRIMARY KEY (session_id),
    CONSTRAINT sessions_user_id_length CHECK (char_length(user_id) BETWEEN 1 AND 255),
    CONSTRAINT sessions_device_id_length CHECK (char_length(device_id) BETWEEN 1 AND 255),
    CONSTRAINT sessions_user_agent_length CHECK (char_length(user_agent) BETWEEN 1 AND 255)
);

CREATE INDEX sessions_user_idx ON sessions (application, user_id, created_at DESC, session_id DESC);
CREATE INDEX sessions_last_seen_at_idx ON sessions (last_seen_at);
CREATE INDEX sessions_expires_at_idx ON sessions (expires_at);

-- A session's refresh tokens: those not used yet, and those used whose answer may have been lost.
CREATE TABLE refresh_tokens (
    session_id uuid NOT NULL,
    -- SHA-256 of the token.
    hash bytea NOT NULL,
    -- The token it was given for; null for the sign-in's own.
    parent bytea,
    issued_at timestamptz NOT NULL,
    used_at timestamptz,
    -- When the first of the tokens given for it was used.
    successor_used_at timestamptz,
    CONSTRAINT refresh_tokens_pkey PRIMARY KEY (session_id, hash),
    CONSTRAINT refresh_tokens_session_id_fkey FOREIGN KEY (session_id) REFERENCES sessions (session_id)
        ON DELETE CASCADE,
    CONSTRAINT refresh_tokens_hash_size CHECK (octet_length(hash) = 32)
);

-- Sessions ended while a jwt of theirs may live: what /internal/revocations tells.
CREATE TABLE revocations (
    serial bigint GENERATED ALWAYS AS IDENTITY,
    session_id uuid NOT NULL,
    revoked_at timestamptz NOT NULL,
    CONSTRAINT revocations_pkey PRIMARY KEY (serial)
);

CREATE INDEX revocations_revoked_at_idx ON revocations (revoked_at);

-- The keys that sign access tokens.
CREATE TABLE signing_keys (
    -- The RFC 7638 thumbprint of the public key.
    kid text COLLATE "C" NOT NULL,
    state text NOT NULL,
    -- X9.63: 04, x, y.
    public_key bytea NOT NULL,
    -- AES-256-GCM under TOKEN_ENCRYPTION_KEY; the kid is its associated data.
    encrypted_private_key bytea NOT NULL,
    -- Which TOKEN_ENCRYPTION_KEY.
    encryption_key_id text NOT NULL,
    created_at timestamptz NOT NULL,
    retired_at timestamptz,
    CONSTRAINT signing_keys_pkey PRIMARY KEY (kid),
    CONSTRAINT signing_keys_state CHECK (state IN ('standby', 'current', 'previous')),
    CONSTRAINT signing_keys_retired CHECK ((state = 'previous') = (retired_at IS NOT NULL))
);

CREATE UNIQUE INDEX signing_keys_one_each ON signing_keys (state) WHERE state <> 'previous';

-- Failed logins of the running window, by account, by address and by known device.
CREATE TABLE login_failures (
    -- SHA-256 of what is counted, so that neither addresses nor mistyped names are kept.
    bucket bytea NOT NULL,
    failures integer NOT NULL,
    since timestamptz NOT NULL,
    CONSTRAINT login_failures_pkey PRIMARY KEY (bucket),
    CONSTRAINT login_failures_count CHECK (failures > 0)
);

CREATE INDEX login_failures_since_idx ON login_failures (since);

-- Devices that have signed in to an account, and are let in while others are slowed down.
CREATE TABLE known_devices (
    user_id uuid NOT NULL,
    -- SHA-256 of the deviceId.
    device bytea NOT NULL,
    last_signed_in_at timestamptz NOT NULL,
    CONSTRAINT known_devices_pkey PRIMARY KEY (user_id, device),
    CONSTRAINT known_devices_user_id_fkey FOREIGN KEY (user_id) REFERENCES accounts (user_id) ON DELETE CASCADE
);

CREATE INDEX known_devices_last_signed_in_at_idx ON known_devices (last_signed_in_at);
