-- Conversations that are gone, whose messages are still being removed, a little at a time.
CREATE TABLE conversation_deletions (
    conversation_id bigint PRIMARY KEY,
    deleted_at timestamptz NOT NULL
);
