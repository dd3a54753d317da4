-- What becomes of a message after it was said. Columns without a value take no room and rewrite nothing.
ALTER TABLE messages
    ADD COLUMN edited_at timestamptz,
    ADD COLUMN deleted_at timestamptz,
    ADD COLUMN reply_to bigint,
    ADD COLUMN reaction_count integer;

-- Who reacted to what, and with what; `change` tells their order. A message that has none says so itself
-- (`reaction_count`), so that a history looks here only where there is something to see.
CREATE TABLE reactions (
    conversation_id bigint NOT NULL,
    seq bigint NOT NULL,
    emoji text COLLATE "C" NOT NULL CONSTRAINT reactions_emoji_size CHECK (octet_length(emoji) BETWEEN 1 AND 64),
    user_id text COLLATE "C" NOT NULL,
    change bigint NOT NULL,
    PRIMARY KEY (conversation_id, seq, emoji, user_id)
);

-- Beside messages that were written: what else others are to hear of, and what is said of it (compact JSON).
ALTER TABLE outbox
    ADD COLUMN kind text NOT NULL DEFAULT 'messages',
    ADD COLUMN body text;
