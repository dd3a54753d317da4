-- Events to deliver: one row for each subscriber, until the subscriber has processed the event.
CREATE TABLE event_outbox (
    outbox_id bigint GENERATED ALWAYS AS IDENTITY,
    event_id uuid NOT NULL,
    -- The service that receives the event.
    subscriber text NOT NULL,
    type text NOT NULL,
    -- Events with the same key are delivered in the order of their insertion.
    key text COLLATE "C" NOT NULL,
    content text NOT NULL,
    written_at timestamptz NOT NULL,
    -- The earliest time of the next delivery: the end of a claim, or of the pause after a rejection.
    due_at timestamptz NOT NULL,
    attempts int NOT NULL DEFAULT 0,
    CONSTRAINT event_outbox_pkey PRIMARY KEY (outbox_id)
);

CREATE INDEX event_outbox_due_idx ON event_outbox (subscriber, due_at);
CREATE INDEX event_outbox_order_idx ON event_outbox (subscriber, key, outbox_id);
