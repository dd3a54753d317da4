-- Conversations that are gone, whose messages are still being removed, a little at a time.
CREATE TABLE deletions (
    conversation_id bigint PRIMARY KEY,
    deleted_at timestamptz NOT NULL
);
