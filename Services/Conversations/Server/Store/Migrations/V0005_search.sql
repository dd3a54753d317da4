-- What is searched is written behind the messages' back, not with them: a send costs what it did before. All of it
-- can be made anew from the messages.

-- Up to which change a conversation's messages are in the index as they are; what changed since is searched as it stands.
CREATE TABLE search_marks (
    conversation_id bigint PRIMARY KEY REFERENCES conversations ON DELETE CASCADE,
    indexed_change bigint NOT NULL
) WITH (fillfactor = 70);

-- 4,096 places of a conversation in a row, and from when to when their messages are.
CREATE TABLE search_ranges (
    conversation_id bigint NOT NULL REFERENCES conversations ON DELETE CASCADE,
    range_number bigint NOT NULL,
    first_at timestamptz NOT NULL,
    last_at timestamptz NOT NULL,
    PRIMARY KEY (conversation_id, range_number)
) WITH (fillfactor = 70);

-- Each word is headed by its conversation and its range_number: `2s.0.walk`. So the list that the index keeps of a word is
-- as long as the word is common in 4,096 messages, not in all; and it is one conversation's alone. The service finds
-- the words, in any script, and so this does not depend on the locale of the database.
CREATE TABLE search_entries (
    conversation_id bigint NOT NULL,
    seq bigint NOT NULL,
    created_at timestamptz NOT NULL,
    words tsvector NOT NULL,
    PRIMARY KEY (conversation_id, seq)
);

CREATE INDEX search_words ON search_entries USING gin (words) WITH (fastupdate = on, gin_pending_list_limit = 256);
