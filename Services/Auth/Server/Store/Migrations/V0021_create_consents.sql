-- Who is away at a provider's page, or back from it and not signed in yet.
CREATE TABLE consents (
    -- SHA-256 of the state that the page was asked with.
    state_hash bytea NOT NULL,
    provider text COLLATE "C" NOT NULL,
    -- Where the client is sent to in the end.
    redirect_url text NOT NULL,
    -- The client's challenge of PKCE, S256.
    code_challenge text NOT NULL,
    -- SHA-256 of what the client completes it with; null until somebody is back.
    code_hash bytea,
    -- What must not be read here: the provider's code, and what goes with it. AES-256-GCM under TOKEN_ENCRYPTION_KEY,
    -- with the state's hash as associated data.
    ciphertext bytea NOT NULL,
    -- Which TOKEN_ENCRYPTION_KEY.
    encryption_key_id text NOT NULL,
    ends_at timestamptz NOT NULL,
    CONSTRAINT consents_pkey PRIMARY KEY (state_hash),
    CONSTRAINT consents_state_hash_size CHECK (octet_length(state_hash) = 32),
    CONSTRAINT consents_code_hash_size CHECK (octet_length(code_hash) = 32)
);

CREATE UNIQUE INDEX consents_code_hash_key ON consents (code_hash) WHERE code_hash IS NOT NULL;
CREATE INDEX consents_ends_at_idx ON consents (ends_at);
