-- Accounts elsewhere, at Google and its like, that somebody signs in by.
CREATE TABLE identities (
    provider text COLLATE "C" NOT NULL,
    -- Who it is, by the provider's own name.
    subject text COLLATE "C" NOT NULL,
    user_id uuid NOT NULL,
    -- As the provider told it last; what the account is reached by is in accounts.
    email text,
    -- What the provider is told to forget by: AES-256-GCM under TOKEN_ENCRYPTION_KEY, with provider and subject as
    -- associated data.
    encrypted_token bytea,
    -- Which TOKEN_ENCRYPTION_KEY.
    encryption_key_id text,
    linked_at timestamptz NOT NULL,
    last_signed_in_at timestamptz NOT NULL,
    CONSTRAINT identities_pkey PRIMARY KEY (provider, subject),
    CONSTRAINT identities_user_id_fkey FOREIGN KEY (user_id) REFERENCES accounts (user_id) ON DELETE CASCADE,
    CONSTRAINT identities_subject_length CHECK (char_length(subject) BETWEEN 1 AND 255),
    CONSTRAINT identities_email_length CHECK (char_length(email) BETWEEN 3 AND 254),
    CONSTRAINT identities_encrypted_token CHECK ((encrypted_token IS NULL) = (encryption_key_id IS NULL))
);

-- One of each provider, so that a path can name it.
CREATE UNIQUE INDEX identities_user_id_provider_key ON identities (user_id, provider);
-- What another TOKEN_ENCRYPTION_KEY than today's has sealed is looked for once a minute.
CREATE INDEX identities_encryption_key_id_idx ON identities (encryption_key_id) WHERE encryption_key_id IS NOT NULL;

-- Tokens that a provider is yet to be told to forget; the accounts they were of may be gone.
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
