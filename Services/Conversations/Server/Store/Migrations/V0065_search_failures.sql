-- Messages that could not be indexed for search. The index goes on behind them, and each is tried again at retry_at, which
-- is `infinity` once the message is set aside (set_aside_rows, kind searched_message).
CREATE TABLE search_failures (
    conversation_id bigint NOT NULL REFERENCES conversations ON DELETE CASCADE,
    seq bigint NOT NULL,
    -- The message's change that failed: a later change is indexed with the conversation's other messages.
    change bigint NOT NULL,
    retry_at timestamptz NOT NULL,
    PRIMARY KEY (conversation_id, seq)
);

CREATE INDEX search_failures_retry_at ON search_failures (retry_at);
