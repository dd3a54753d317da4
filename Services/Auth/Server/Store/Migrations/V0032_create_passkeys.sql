-- Passkeys (WebAuthn): what an account is signed in by without a password.
CREATE TABLE passkeys (
    -- The authenticator's own name for it.
    credential_id bytea NOT NULL,
    -- Ours, for its owner.
    passkey_id uuid NOT NULL,
    user_id uuid NOT NULL,
    -- In COSE, as the authenticator gave it.
    public_key bytea NOT NULL,
    -- What the authenticator has counted to; stays 0 where it does not count.
    sign_count bigint NOT NULL,
    name text NOT NULL,
    -- How the authenticator can be reached, as the browser said.
    transports text[] NOT NULL,
    -- Whether it may be on several devices of its owner, and whether it is.
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
