-- The ids of processed events, inserted in the transaction that processes the event, so that a repeated event has no
-- effect.
CREATE TABLE event_inbox (
    event_id uuid NOT NULL,
    taken_at timestamptz NOT NULL,
    CONSTRAINT event_inbox_pkey PRIMARY KEY (event_id)
);

CREATE INDEX event_inbox_taken_at_idx ON event_inbox (taken_at);
