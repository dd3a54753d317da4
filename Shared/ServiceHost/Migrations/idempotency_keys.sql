-- The first response to each Idempotency-Key, stored for 24 hours. status is NULL while the request is running.
CREATE TABLE idempotency_keys (
    application_id text NOT NULL,
    user_id text NOT NULL,
    key text NOT NULL,
    fingerprint bytea NOT NULL,
    begun_at timestamptz NOT NULL,
    status int,
    content_type text,
    body bytea,
    CONSTRAINT idempotency_keys_pkey PRIMARY KEY (application_id, user_id, key)
);

CREATE INDEX idempotency_keys_begun_at ON idempotency_keys (begun_at);
