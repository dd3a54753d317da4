-- What happened and is to be handed on: a row for each subscriber, until it has taken the event.
CREATE TABLE event_outbox (
    outbox_id bigint GENERATED ALWAYS AS IDENTITY,
    event_id uuid NOT NULL,
    -- The service that is told.
    subscriber text NOT NULL,
    type text NOT NULL,
    -- Events of one key go out in the order they were written.
    key text COLLATE "C" NOT NULL,
    content text NOT NULL,
    written_at timestamptz NOT NULL,
    -- Not before this: the end of a claim, or of the pause after a refusal.
    due_at timestamptz NOT NULL,
    attempts int NOT NULL DEFAULT 0,
    CONSTRAINT event_outbox_pkey PRIMARY KEY (outbox_id)
);

CREATE INDEX event_outbox_due_idx ON event_outbox (subscriber, due_at);
CREATE INDEX event_outbox_order_idx ON event_outbox (subscriber, key, outbox_id);
