-- Who is handing a row on, and until when nobody else does. Null when a row is written, so that a message costs what it did.
ALTER TABLE outbox
    ADD COLUMN claimed_by text COLLATE "C",
    ADD COLUMN claimed_until timestamptz;
