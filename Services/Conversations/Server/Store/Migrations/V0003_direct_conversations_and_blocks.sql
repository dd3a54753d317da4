-- Two people who talk to each other alone. The constraint is not tried on what is there: all of that is groups.
ALTER TABLE conversations
    DROP CONSTRAINT conversations_type_check,
    ADD CONSTRAINT conversations_type_check CHECK (type IN ('group', 'direct')) NOT VALID;

-- One for each pair, the smaller name first.
CREATE TABLE directs (
    application_id text COLLATE "C" NOT NULL,
    low_id text COLLATE "C" NOT NULL,
    high_id text COLLATE "C" NOT NULL,
    conversation_id bigint NOT NULL REFERENCES conversations ON DELETE CASCADE,
    PRIMARY KEY (application_id, low_id, high_id),
    CONSTRAINT directs_order CHECK (low_id < high_id),
    CONSTRAINT directs_conversation_key UNIQUE (conversation_id)
);

-- Whom somebody does not want to hear from; one list for the whole suite.
CREATE TABLE blocks (
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    blocked_id text COLLATE "C" NOT NULL,
    blocked_at timestamptz NOT NULL,
    PRIMARY KEY (application_id, user_id, blocked_id),
    CONSTRAINT blocks_another CHECK (user_id <> blocked_id)
);

CREATE INDEX blocks_of_blocked ON blocks (application_id, blocked_id, user_id);

-- `is_blocked`: the other of a direct conversation has blocked this one. It is a copy of the list, kept under the
-- head's lock, so that a message finds it where it looks anyway.
ALTER TABLE members
    ADD COLUMN push_enabled boolean NOT NULL DEFAULT true,
    ADD COLUMN is_blocked boolean NOT NULL DEFAULT false;

-- Not all that others are to hear of happens in a conversation.
ALTER TABLE outbox
    ALTER COLUMN conversation_id DROP NOT NULL,
    ALTER COLUMN from_seq DROP NOT NULL,
    ALTER COLUMN to_seq DROP NOT NULL;
