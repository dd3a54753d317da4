-- The accounts that people have linked. What a network's tokens are is sealed (AES-256-GCM) with the key named beside it,
-- bound to owner and network, so that a row copied to another owner opens for nobody.
--
-- `version` counts the tokens: a renewal writes only over the ones it renewed, so that two that ran side by side, or an
-- account linked anew in between, never leave older tokens behind.
CREATE TABLE accounts (
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    network text COLLATE "C" NOT NULL,
    native_id text COLLATE "C",
    username text,
    instance text,
    details jsonb NOT NULL DEFAULT '{}',
    tokens bytea NOT NULL,
    key_id text COLLATE "C" NOT NULL,
    version bigint NOT NULL DEFAULT 1,
    expires_at timestamptz,
    -- linked, expired (renewal may help), reauthenticate (only the person can).
    state text COLLATE "C" NOT NULL DEFAULT 'linked',
    linked_at timestamptz NOT NULL,
    -- One of the instances renews the tokens until then.
    renewing_until timestamptz,
    CONSTRAINT accounts_pkey PRIMARY KEY (application_id, user_id, network),
    CONSTRAINT accounts_state CHECK (state IN ('linked', 'expired', 'reauthenticate'))
);

-- Whom a webhook is for.
CREATE INDEX accounts_network_native_id ON accounts (network, native_id);
-- What is sealed with a key that is to be replaced.
CREATE INDEX accounts_key_id ON accounts (key_id);

-- People who were sent to a network and are not back yet. What is to be remembered of each is sealed as tokens are.
CREATE TABLE authorizations (
    -- SHA-256 of the state.
    state_hash bytea NOT NULL,
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    session_id text COLLATE "C" NOT NULL,
    network text COLLATE "C" NOT NULL,
    redirect_url text NOT NULL,
    payload bytea NOT NULL,
    key_id text COLLATE "C" NOT NULL,
    -- SHA-256 of the one-time code, once he is back.
    code_hash bytea,
    ends_at timestamptz NOT NULL,
    CONSTRAINT authorizations_pkey PRIMARY KEY (state_hash),
    CONSTRAINT authorizations_code_key UNIQUE (code_hash)
);

CREATE INDEX authorizations_ending ON authorizations (ends_at);
