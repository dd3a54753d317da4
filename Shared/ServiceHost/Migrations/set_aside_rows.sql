-- Rows of this service's tables that a worker could not decode or process. A row is retried at retry_at. After the last
-- attempt it is set aside: no worker claims it until an operator retries or drops it.
CREATE TABLE set_aside_rows (
    set_aside_id bigint GENERATED ALWAYS AS IDENTITY,
    -- The worker's kind of row: fanout, event.
    kind text COLLATE "C" NOT NULL,
    -- The row's primary key, each column as text.
    key text[] COLLATE "C" NOT NULL,
    reason text NOT NULL,
    -- The error, without values of the row.
    detail text NOT NULL,
    attempts int NOT NULL,
    first_failed_at timestamptz NOT NULL,
    last_failed_at timestamptz NOT NULL,
    -- NULL: the row is set aside.
    retry_at timestamptz,
    CONSTRAINT set_aside_rows_pkey PRIMARY KEY (set_aside_id),
    CONSTRAINT set_aside_rows_key UNIQUE (kind, key),
    CONSTRAINT set_aside_rows_reason CHECK (reason IN ('unreadable', 'failing')),
    CONSTRAINT set_aside_rows_attempts CHECK (attempts >= 1)
);
