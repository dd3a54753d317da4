-- Accounts of Roost's own application. Users of customers' applications have no row: they exist through their sessions.
CREATE TABLE accounts (
    user_id uuid NOT NULL,
    username text,
    full_name text,
    email text,
    email_verified boolean NOT NULL DEFAULT false,
    -- Argon2id in PHC string format, which includes the parameters and the salt.
    password_hash text,
    is_anonymous boolean NOT NULL,
    created_at timestamptz NOT NULL,
    -- Set by the operator; the user of a disabled account cannot sign in.
    disabled_at timestamptz,
    -- The address as it was when its verifier also held the account: by a session, the password, or a provider that
    -- vouches for the address. If it differs from email, an older credential may belong to another person.
    proven_email text,
    -- The language of texts for the user, a BCP 47 tag in canonical case; NULL if unknown.
    language text COLLATE "C",
    CONSTRAINT accounts_pkey PRIMARY KEY (user_id),
    CONSTRAINT accounts_username_length CHECK (char_length(username) BETWEEN 1 AND 64),
    CONSTRAINT accounts_full_name_length CHECK (char_length(full_name) BETWEEN 1 AND 100),
    CONSTRAINT accounts_email_length CHECK (char_length(email) BETWEEN 3 AND 254),
    CONSTRAINT accounts_language_length CHECK (char_length(language) BETWEEN 2 AND 35),
    CONSTRAINT accounts_verified_email CHECK (email IS NOT NULL OR NOT email_verified),
    CONSTRAINT accounts_anonymous_is_bare CHECK (NOT is_anonymous OR (username IS NULL AND password_hash IS NULL))
);

-- Finds the newest account with an unverified address, for login and for another verification email. Several accounts
-- may have the same address until one of them verifies it.
CREATE INDEX accounts_unverified_email_idx ON accounts (lower(email COLLATE "C"), created_at DESC)
    WHERE NOT email_verified AND email IS NOT NULL;

-- Names for sign-in: usernames and verified email addresses. Both share one key, because only an address contains an @.
-- Unique here and not in accounts, so that each table can be sharded by its own key.
CREATE TABLE sign_in_names (
    -- After NFKC case folding, so that equal names have equal bytes.
    name text COLLATE "C" NOT NULL,
    user_id uuid NOT NULL,
    CONSTRAINT sign_in_names_pkey PRIMARY KEY (name),
    CONSTRAINT sign_in_names_user_id_fkey FOREIGN KEY (user_id) REFERENCES accounts (user_id) ON DELETE CASCADE
);

CREATE INDEX sign_in_names_user_id_idx ON sign_in_names (user_id);

-- Accounts whose access tokens permit the administration of the suite.
CREATE TABLE administrators (
    user_id uuid NOT NULL,
    granted_at timestamptz NOT NULL,
    CONSTRAINT administrators_pkey PRIMARY KEY (user_id),
    CONSTRAINT administrators_user_id_fkey FOREIGN KEY (user_id) REFERENCES accounts (user_id) ON DELETE CASCADE
);

-- Customers' applications.
CREATE TABLE applications (
    application_id text COLLATE "C" NOT NULL,
    name text NOT NULL,
    -- Stored as plain text: client apps contain the key, and the key alone grants no access.
    application_key text NOT NULL,
    created_at timestamptz NOT NULL,
    -- The account that manages the application; NULL if only administrators do.
    owner_id uuid,
    -- When the deletion began. The row stays until every service has deleted the application's data.
    deleted_at timestamptz,
    CONSTRAINT applications_pkey PRIMARY KEY (application_id),
    CONSTRAINT applications_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES accounts (user_id) ON DELETE SET NULL,
    CONSTRAINT applications_name_length CHECK (char_length(name) BETWEEN 1 AND 100)
);

CREATE INDEX applications_created_at_idx ON applications (created_at DESC, application_id DESC);
CREATE INDEX applications_owner_id_idx ON applications (owner_id, created_at DESC, application_id DESC)
    WHERE owner_id IS NOT NULL;
CREATE INDEX applications_deleted_at_idx ON applications (deleted_at) WHERE deleted_at IS NOT NULL;

-- Public keys of customers' account servers. Only the account server has the private key.
CREATE TABLE application_keys (
    application_id text COLLATE "C" NOT NULL,
    key_id text COLLATE "C" NOT NULL,
    -- SubjectPublicKeyInfo, DER.
    public_key bytea NOT NULL,
    created_at timestamptz NOT NULL,
    revoked_at timestamptz,
    CONSTRAINT application_keys_pkey PRIMARY KEY (application_id, key_id),
    CONSTRAINT application_keys_application_id_fkey FOREIGN KEY (application_id)
        REFERENCES applications (application_id)
);

-- Users of applications who have signed in. Conversations also has users who were only named by other users.
CREATE TABLE application_users (
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    first_signed_in_at timestamptz NOT NULL,
    last_signed_in_at timestamptz NOT NULL,
    CONSTRAINT application_users_pkey PRIMARY KEY (application_id, user_id),
    CONSTRAINT application_users_application_id_fkey FOREIGN KEY (application_id)
        REFERENCES applications (application_id)
);

-- Credentials of applications for push providers, used instead of the suite's own.
CREATE TABLE push_credentials (
    application_id text COLLATE "C" NOT NULL,
    provider text COLLATE "C" NOT NULL,
    -- AES-256-GCM under TOKEN_ENCRYPTION_KEY; the associated data is the application and the provider.
    ciphertext bytea NOT NULL,
    -- The TOKEN_ENCRYPTION_KEY that encrypted the value.
    encryption_key_id text NOT NULL,
    changed_at timestamptz NOT NULL,
    CONSTRAINT push_credentials_pkey PRIMARY KEY (application_id, provider),
    CONSTRAINT push_credentials_provider CHECK (provider IN ('apns', 'fcm', 'vapid')),
    CONSTRAINT push_credentials_application_id_fkey FOREIGN KEY (application_id)
        REFERENCES applications (application_id)
);

-- Used nonces of account servers, until they have expired.
CREATE TABLE spent_nonces (
    application_id text COLLATE "C" NOT NULL,
    -- SHA-256 of the nonce.
    hash bytea NOT NULL,
    expires_at timestamptz NOT NULL,
    CONSTRAINT spent_nonces_pkey PRIMARY KEY (application_id, hash)
);

CREATE INDEX spent_nonces_expires_at_idx ON spent_nonces (expires_at);

-- Signed-in devices. An ended session has no row; revocations lists it until its access tokens have expired.
--
-- A session that a customer's account server requested has a token of its own (token_hash, key_id, platform). It has no
-- refresh tokens.
CREATE TABLE sessions (
    session_id uuid NOT NULL,
    application text NOT NULL,
    user_id text NOT NULL,
    device_id text,
    user_agent text,
    created_at timestamptz NOT NULL,
    last_seen_at timestamptz NOT NULL,
    -- The end of the session, which a refresh does not postpone.
    expires_at timestamptz NOT NULL,
    -- SHA-256 of the session's own token.
    token_hash bytea,
    -- The key in application_keys that signed the request for the session.
    key_id text COLLATE "C",
    platform text,
    -- The push token that the client sent at sign-in; conversations registers the device with it.
    push_token text,
    CONSTRAINT sessions_pkey PRIMARY KEY (session_id),
    CONSTRAINT sessions_user_id_length CHECK (char_length(user_id) BETWEEN 1 AND 255),
    CONSTRAINT sessions_device_id_length CHECK (char_length(device_id) BETWEEN 1 AND 255),
    CONSTRAINT sessions_user_agent_length CHECK (char_length(user_agent) BETWEEN 1 AND 255),
    CONSTRAINT sessions_token_hash_size CHECK (octet_length(token_hash) = 32),
    CONSTRAINT sessions_platform CHECK (platform IN ('gcm', 'ios_sandbox', 'ios_production')),
    CONSTRAINT sessions_push_token_size CHECK (octet_length(push_token) BETWEEN 1 AND 4096),
    CONSTRAINT sessions_opened_by_key CHECK ((token_hash IS NULL) = (key_id IS NULL)),
    CONSTRAINT sessions_with_token_have_device CHECK (token_hash IS NULL OR device_id IS NOT NULL)
);

CREATE INDEX sessions_user_idx ON sessions (application, user_id, created_at DESC, session_id DESC);
CREATE INDEX sessions_last_seen_at_idx ON sessions (last_seen_at);
CREATE INDEX sessions_expires_at_idx ON sessions (expires_at);
CREATE INDEX sessions_key_id_idx ON sessions (application, key_id) WHERE key_id IS NOT NULL;
CREATE UNIQUE INDEX sessions_token_hash_key ON sessions (token_hash) WHERE token_hash IS NOT NULL;
CREATE UNIQUE INDEX sessions_device_key ON sessions (application, user_id, device_id) WHERE token_hash IS NOT NULL;

-- Refresh tokens of sessions: unused ones, and used ones whose response may have been lost.
CREATE TABLE refresh_tokens (
    session_id uuid NOT NULL,
    -- SHA-256 of the token.
    hash bytea NOT NULL,
    -- The hash of the token that was exchanged for this one; NULL for the first token of the session.
    parent bytea,
    issued_at timestamptz NOT NULL,
    used_at timestamptz,
    -- When a token that was issued for this one was first used.
    successor_used_at timestamptz,
    CONSTRAINT refresh_tokens_pkey PRIMARY KEY (session_id, hash),
    CONSTRAINT refresh_tokens_session_id_fkey FOREIGN KEY (session_id) REFERENCES sessions (session_id)
        ON DELETE CASCADE,
    CONSTRAINT refresh_tokens_hash_size CHECK (octet_length(hash) = 32)
);

-- Ended sessions whose access tokens may not have expired yet; served by /internal/revocations.
CREATE TABLE revocations (
    serial bigint GENERATED ALWAYS AS IDENTITY,
    session_id uuid NOT NULL,
    revoked_at timestamptz NOT NULL,
    -- SHA-256 of the session's own token, by which every service recognises the token without the session's row. NULL
    -- for sessions with access tokens, whose claims name the session.
    token_hash bytea,
    CONSTRAINT revocations_pkey PRIMARY KEY (serial),
    CONSTRAINT revocations_token_hash_size CHECK (octet_length(token_hash) = 32)
);

CREATE INDEX revocations_revoked_at_idx ON revocations (revoked_at);

-- Keys that sign access tokens.
CREATE TABLE signing_keys (
    -- The RFC 7638 thumbprint of the public key.
    kid text COLLATE "C" NOT NULL,
    state text NOT NULL,
    -- X9.63: 04, x, y.
    public_key bytea NOT NULL,
    -- AES-256-GCM under TOKEN_ENCRYPTION_KEY; the associated data is the kid.
    encrypted_private_key bytea NOT NULL,
    -- The TOKEN_ENCRYPTION_KEY that encrypted the private key.
    encryption_key_id text NOT NULL,
    created_at timestamptz NOT NULL,
    retired_at timestamptz,
    CONSTRAINT signing_keys_pkey PRIMARY KEY (kid),
    CONSTRAINT signing_keys_state CHECK (state IN ('standby', 'current', 'previous')),
    CONSTRAINT signing_keys_retired CHECK ((state = 'previous') = (retired_at IS NOT NULL))
);

CREATE UNIQUE INDEX signing_keys_one_each ON signing_keys (state) WHERE state <> 'previous';

-- Failed logins in the current window, for each account, network address and known device.
CREATE TABLE login_failures (
    -- SHA-256 of the counted value, so that neither addresses nor mistyped names are stored.
    bucket bytea NOT NULL,
    failures integer NOT NULL,
    -- The start of the window.
    since timestamptz NOT NULL,
    CONSTRAINT login_failures_pkey PRIMARY KEY (bucket),
    CONSTRAINT login_failures_count CHECK (failures > 0)
);

CREATE INDEX login_failures_since_idx ON login_failures (since);

-- Devices that have signed in to an account. They can sign in while logins from other devices are throttled.
CREATE TABLE known_devices (
    user_id uuid NOT NULL,
    -- SHA-256 of a device token, or of a deviceId with its network.
    device bytea NOT NULL,
    last_signed_in_at timestamptz NOT NULL,
    CONSTRAINT known_devices_pkey PRIMARY KEY (user_id, device),
    CONSTRAINT known_devices_user_id_fkey FOREIGN KEY (user_id) REFERENCES accounts (user_id) ON DELETE CASCADE
);

CREATE INDEX known_devices_last_signed_in_at_idx ON known_devices (last_signed_in_at);
CREATE INDEX known_devices_user_id_idx ON known_devices (user_id, last_signed_in_at DESC);

-- Sign-ins with a correct first factor that wait for the second factor.
CREATE TABLE login_challenges (
    -- SHA-256 of the challenge.
    hash bytea NOT NULL,
    user_id uuid NOT NULL,
    device_id text,
    expires_at timestamptz NOT NULL,
    -- The number of wrong codes.
    failures integer NOT NULL DEFAULT 0,
    -- The row of known_devices that matched the device; NULL for a new device.
    known_device bytea,
    -- Whether the device was recognised by its device token.
    has_device_token boolean NOT NULL DEFAULT false,
    CONSTRAINT login_challenges_pkey PRIMARY KEY (hash),
    CONSTRAINT login_challenges_user_id_fkey FOREIGN KEY (user_id) REFERENCES accounts (user_id) ON DELETE CASCADE,
    CONSTRAINT login_challenges_hash_size CHECK (octet_length(hash) = 32),
    CONSTRAINT login_challenges_device_id_length CHECK (char_length(device_id) BETWEEN 1 AND 255)
);

CREATE INDEX login_challenges_user_id_idx ON login_challenges (user_id);
CREATE INDEX login_challenges_expires_at_idx ON login_challenges (expires_at);

-- Authenticator apps (TOTP, RFC 6238), at most one for each account.
CREATE TABLE totp_factors (
    user_id uuid NOT NULL,
    -- AES-256-GCM under TOKEN_ENCRYPTION_KEY; the associated data is the account's id.
    encrypted_secret bytea NOT NULL,
    -- The TOKEN_ENCRYPTION_KEY that encrypted the secret.
    encryption_key_id text NOT NULL,
    created_at timestamptz NOT NULL,
    -- When the user first entered a correct code. Sign-in requires no code before.
    confirmed_at timestamptz,
    -- The period of the last accepted code: a code is accepted only once (RFC 6238, section 5.2).
    last_period bigint NOT NULL DEFAULT 0,
    CONSTRAINT totp_factors_pkey PRIMARY KEY (user_id),
    CONSTRAINT totp_factors_user_id_fkey FOREIGN KEY (user_id) REFERENCES accounts (user_id) ON DELETE CASCADE
);

CREATE INDEX totp_factors_encryption_key_id_idx ON totp_factors (encryption_key_id);

-- Codes that replace the authenticator app; each can be used once.
CREATE TABLE recovery_codes (
    user_id uuid NOT NULL,
    -- SHA-256 of the account's id and the code.
    hash bytea NOT NULL,
    CONSTRAINT recovery_codes_pkey PRIMARY KEY (user_id, hash),
    CONSTRAINT recovery_codes_user_id_fkey FOREIGN KEY (user_id) REFERENCES accounts (user_id) ON DELETE CASCADE,
    CONSTRAINT recovery_codes_hash_size CHECK (octet_length(hash) = 32)
);

-- Passkeys (WebAuthn), for sign-in without a password.
CREATE TABLE passkeys (
    -- The id that the authenticator chose.
    credential_id bytea NOT NULL,
    -- The id in the suite's API.
    passkey_id uuid NOT NULL,
    user_id uuid NOT NULL,
    -- COSE, as received from the authenticator.
    public_key bytea NOT NULL,
    -- The authenticator's signature counter; always 0 if it does not count.
    sign_count bigint NOT NULL,
    name text NOT NULL,
    -- The transports of the authenticator that the browser reported.
    transports text[] NOT NULL,
    -- Whether the passkey can be copied to several devices of its owner, and whether it has been.
    is_backup_eligible boolean NOT NULL,
    is_backed_up boolean NOT NULL,
    created_at timestamptz NOT NULL,
    last_used_at timestamptz,
    CONSTRAINT passkeys_pkey PRIMARY KEY (credential_id),
    CONSTRAINT passkeys_user_id_fkey FOREIGN KEY (user_id) REFERENCES accounts (user_id) ON DELETE CASCADE,
    CONSTRAINT passkeys_credential_id_size CHECK (octet_length(credential_id) BETWEEN 1 AND 1023),
    CONSTRAINT passkeys_sign_count CHECK (sign_count BETWEEN 0 AND 4294967295),
    CONSTRAINT passkeys_name_length CHECK (char_length(name) BETWEEN 1 AND 64)
);

CREATE UNIQUE INDEX passkeys_user_id_idx ON passkeys (user_id, passkey_id);

-- External accounts (Google, Apple) that a user signs in with.
CREATE TABLE identities (
    provider text COLLATE "C" NOT NULL,
    -- The provider's id of the external account.
    subject text COLLATE "C" NOT NULL,
    user_id uuid NOT NULL,
    -- The address that the provider last reported. The suite sends emails to the address in accounts.
    email text,
    -- The token for the revocation request to the provider. AES-256-GCM under TOKEN_ENCRYPTION_KEY; the associated data
    -- is the provider and the subject.
    encrypted_token bytea,
    -- The TOKEN_ENCRYPTION_KEY that encrypted the token.
    encryption_key_id text,
    linked_at timestamptz NOT NULL,
    last_signed_in_at timestamptz NOT NULL,
    CONSTRAINT identities_pkey PRIMARY KEY (provider, subject),
    CONSTRAINT identities_user_id_fkey FOREIGN KEY (user_id) REFERENCES accounts (user_id) ON DELETE CASCADE,
    CONSTRAINT identities_subject_length CHECK (char_length(subject) BETWEEN 1 AND 255),
    CONSTRAINT identities_email_length CHECK (char_length(email) BETWEEN 3 AND 254),
    CONSTRAINT identities_encrypted_token CHECK ((encrypted_token IS NULL) = (encryption_key_id IS NULL))
);

-- An account has at most one identity of each provider, so that a path can name it by the provider.
CREATE UNIQUE INDEX identities_user_id_provider_key ON identities (user_id, provider);
-- Key rotation searches every minute for rows that a previous TOKEN_ENCRYPTION_KEY encrypted.
CREATE INDEX identities_encryption_key_id_idx ON identities (encryption_key_id) WHERE encryption_key_id IS NOT NULL;

-- Tokens that a provider has yet to revoke. The account may already be deleted.
CREATE TABLE identity_revocations (
    revocation_id uuid NOT NULL,
    provider text COLLATE "C" NOT NULL,
    subject text COLLATE "C" NOT NULL,
    encrypted_token bytea NOT NULL,
    encryption_key_id text NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    due_at timestamptz NOT NULL,
    CONSTRAINT identity_revocations_pkey PRIMARY KEY (revocation_id)
);

CREATE INDEX identity_revocations_due_at_idx ON identity_revocations (due_at);

-- Sign-ins with an external provider that have begun and are not completed.
CREATE TABLE consents (
    -- SHA-256 of the state parameter in the provider's URL.
    state_hash bytea NOT NULL,
    provider text COLLATE "C" NOT NULL,
    -- The client's URL for the final redirect.
    redirect_url text NOT NULL,
    -- The client's PKCE challenge, S256.
    code_challenge text NOT NULL,
    -- SHA-256 of the one-time code with which the client completes the sign-in; NULL until the provider's callback.
    code_hash bytea,
    -- The provider's code and its context. AES-256-GCM under TOKEN_ENCRYPTION_KEY; the associated data is state_hash.
    ciphertext bytea NOT NULL,
    -- The TOKEN_ENCRYPTION_KEY that encrypted the value.
    encryption_key_id text NOT NULL,
    ends_at timestamptz NOT NULL,
    CONSTRAINT consents_pkey PRIMARY KEY (state_hash),
    CONSTRAINT consents_state_hash_size CHECK (octet_length(state_hash) = 32),
    CONSTRAINT consents_code_hash_size CHECK (octet_length(code_hash) = 32)
);

CREATE UNIQUE INDEX consents_code_hash_key ON consents (code_hash) WHERE code_hash IS NOT NULL;
CREATE INDEX consents_ends_at_idx ON consents (ends_at);

-- Emails to send. The text and its link are created when the email is sent, so the row contains no secret. The account
-- of an address is also looked up then, so that a request takes equally long for known and unknown addresses.
CREATE TABLE emails (
    email_id uuid NOT NULL,
    kind text COLLATE "C" NOT NULL,
    address text NOT NULL,
    -- The account that the email is about; NULL if the request contained only an address.
    user_id uuid,
    created_at timestamptz NOT NULL,
    -- The earliest time of the next attempt: the end of a claim, or of the pause after a failure.
    due_at timestamptz NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    CONSTRAINT emails_pkey PRIMARY KEY (email_id),
    CONSTRAINT emails_user_id_fkey FOREIGN KEY (user_id) REFERENCES accounts (user_id) ON DELETE CASCADE,
    CONSTRAINT emails_address_length CHECK (char_length(address) BETWEEN 3 AND 254),
    CONSTRAINT emails_attempts CHECK (attempts >= 0)
);

CREATE INDEX emails_due_at_idx ON emails (due_at);
CREATE INDEX emails_user_id_idx ON emails (user_id);

-- Links that were sent by email and not used yet.
CREATE TABLE email_links (
    -- SHA-256 of the token in the link.
    hash bytea NOT NULL,
    purpose text COLLATE "C" NOT NULL,
    user_id uuid NOT NULL,
    -- The recipient: use of the link proves access to the mailbox.
    address text NOT NULL,
    expires_at timestamptz NOT NULL,
    CONSTRAINT email_links_pkey PRIMARY KEY (hash),
    CONSTRAINT email_links_user_id_fkey FOREIGN KEY (user_id) REFERENCES accounts (user_id) ON DELETE CASCADE,
    CONSTRAINT email_links_hash_size CHECK (octet_length(hash) = 32),
    CONSTRAINT email_links_purpose CHECK (purpose IN ('verify', 'reset'))
);

CREATE INDEX email_links_user_id_idx ON email_links (user_id, purpose);
CREATE INDEX email_links_expires_at_idx ON email_links (expires_at);

-- Security events of accounts, shown to their owners. A row is kept for AUDIT_RETENTION_DAYS, and at most as long as the
-- account.
CREATE TABLE audit (
    user_id uuid NOT NULL,
    entry_id bigint GENERATED ALWAYS AS IDENTITY,
    kind text COLLATE "C" NOT NULL,
    happened_at timestamptz NOT NULL,
    session_id uuid,
    device_id text,
    user_agent text,
    -- The network address of the client.
    address text,
    detail text,
    CONSTRAINT audit_pkey PRIMARY KEY (user_id, entry_id),
    CONSTRAINT audit_user_id_fkey FOREIGN KEY (user_id) REFERENCES accounts (user_id) ON DELETE CASCADE,
    CONSTRAINT audit_detail_length CHECK (char_length(detail) BETWEEN 1 AND 255)
);

-- Finds the devices on which a user has signed in.
CREATE INDEX audit_sign_ins_idx ON audit (user_id, device_id, user_agent) WHERE kind = 'login.succeeded';
CREATE INDEX audit_happened_at_idx ON audit (happened_at);

-- Account deletions in progress. A row is deleted when every service has confirmed that it has no data of the user
-- left, so the ids are not stored longer.
CREATE TABLE deletion_jobs (
    deletion_id uuid NOT NULL,
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    started_at timestamptz NOT NULL,
    -- The current pass over all services.
    round int NOT NULL,
    -- The next round starts at this time, after all services have confirmed this one; NULL in the last round.
    next_round_at timestamptz,
    CONSTRAINT deletion_jobs_pkey PRIMARY KEY (deletion_id)
);

CREATE INDEX deletion_jobs_started_at_idx ON deletion_jobs (started_at);

-- Services that have not confirmed the current round of a deletion.
CREATE TABLE deletion_job_services (
    deletion_id uuid NOT NULL,
    service text COLLATE "C" NOT NULL,
    CONSTRAINT deletion_job_services_pkey PRIMARY KEY (deletion_id, service),
    CONSTRAINT deletion_job_services_deletion_id_fkey FOREIGN KEY (deletion_id) REFERENCES deletion_jobs
        ON DELETE CASCADE
);
