-- Authenticator apps (TOTP, RFC 6238): one an account.
CREATE TABLE totp_factors (
    user_id uuid NOT NULL,
    -- AES-256-GCM under TOKEN_ENCRYPTION_KEY; the account's id is its associated data.
    encrypted_secret bytea NOT NULL,
    -- Which TOKEN_ENCRYPTION_KEY.
    encryption_key_id text NOT NULL,
    created_at timestamptz NOT NULL,
    -- When the app showed that it has the secret; until then nothing is asked of anybody.
    confirmed_at timestamptz,
    -- The period of the last code that was taken: each is taken once (RFC 6238, section 5.2).
    last_period bigint NOT NULL DEFAULT 0,
    CONSTRAINT totp_factors_pkey PRIMARY KEY (user_id),
    CONSTRAINT totp_factors_user_id_fkey FOREIGN KEY (user_id) REFERENCES accounts (user_id) ON DELETE CASCADE
);

CREATE INDEX totp_factors_encryption_key_id_idx ON totp_factors (encryption_key_id);

-- What gets in without the app, each once.
CREATE TABLE recovery_codes (
    user_id uuid NOT NULL,
    -- SHA-256 of the account's id and the code.
    hash bytea NOT NULL,
    CONSTRAINT recovery_codes_pkey PRIMARY KEY (user_id, hash),
    CONSTRAINT recovery_codes_user_id_fkey FOREIGN KEY (user_id) REFERENCES accounts (user_id) ON DELETE CASCADE,
    CONSTRAINT recovery_codes_hash_size CHECK (octet_length(hash) = 32)
);

-- Sign-ins whose first factor was right, and that wait for the second.
CREATE TABLE login_challenges (
    -- SHA-256 of the challenge.
    hash bytea NOT NULL,
    user_id uuid NOT NULL,
    device_id text,
    expires_at timestamptz NOT NULL,
    -- Wrong codes so far.
    failures integer NOT NULL DEFAULT 0,
    CONSTRAINT login_challenges_pkey PRIMARY KEY (hash),
    CONSTRAINT login_challenges_user_id_fkey FOREIGN KEY (user_id) REFERENCES accounts (user_id) ON DELETE CASCADE,
    CONSTRAINT login_challenges_hash_size CHECK (octet_length(hash) = 32),
    CONSTRAINT login_challenges_device_id_length CHECK (char_length(device_id) BETWEEN 1 AND 255)
);

CREATE INDEX login_challenges_user_id_idx ON login_challenges (user_id);
CREATE INDEX login_challenges_expires_at_idx ON login_challenges (expires_at);
