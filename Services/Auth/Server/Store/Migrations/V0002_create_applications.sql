-- Customers' applications. Their people have no row here: they exist by their sessions.
CREATE TABLE applications (
    application_id text COLLATE "C" NOT NULL,
    name text NOT NULL,
    -- It sits in client apps and proves nothing by itself, so it is kept as it is.
    application_key text NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT applications_pkey PRIMARY KEY (application_id),
    CONSTRAINT applications_name_length CHECK (char_length(name) BETWEEN 1 AND 100)
);

CREATE INDEX applications_created_at_idx ON applications (created_at DESC, application_id DESC);

-- The keys that account servers sign with; they have the private halves, and nobody else.
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

-- Nonces that were used, until they would not be taken any more anyway.
CREATE TABLE spent_nonces (
    application_id text COLLATE "C" NOT NULL,
    -- SHA-256 of the nonce.
    hash bytea NOT NULL,
    expires_at timestamptz NOT NULL,
    CONSTRAINT spent_nonces_pkey PRIMARY KEY (application_id, hash)
);

CREATE INDEX spent_nonces_expires_at_idx ON spent_nonces (expires_at);

-- What a session that a customer's account server asked for has besides: it is used by a token of its own, and is not
-- refreshed.
ALTER TABLE sessions
    -- SHA-256 of the token.
    ADD COLUMN token_hash bytea,
    ADD COLUMN key_id text COLLATE "C",
    ADD COLUMN platform text,
    ADD CONSTRAINT sessions_token_hash_size CHECK (octet_length(token_hash) = 32),
    ADD CONSTRAINT sessions_platform CHECK (platform IN ('gcm', 'ios_sandbox', 'ios_production')),
    ADD CONSTRAINT sessions_opened_by_key CHECK ((token_hash IS NULL) = (key_id IS NULL)),
    ADD CONSTRAINT sessions_with_token_have_device CHECK (token_hash IS NULL OR device_id IS NOT NULL);

CREATE UNIQUE INDEX sessions_token_hash_key ON sessions (token_hash) WHERE token_hash IS NOT NULL;
CREATE UNIQUE INDEX sessions_device_key ON sessions (application, user_id, device_id) WHERE token_hash IS NOT NULL;
CREATE INDEX sessions_key_id_idx ON sessions (application, key_id) WHERE key_id IS NOT NULL;

-- The accounts whose tokens say that they may administer the suite.
CREATE TABLE administrators (
    user_id uuid NOT NULL,
    granted_at timestamptz NOT NULL,
    CONSTRAINT administrators_pkey PRIMARY KEY (user_id),
    CONSTRAINT administrators_user_id_fkey FOREIGN KEY (user_id) REFERENCES accounts (user_id) ON DELETE CASCADE
);
