-- Users who left a conversation by themselves: only they can come back, no admin adds them. A row goes when they join.
CREATE TABLE leaves (
    conversation_id bigint NOT NULL REFERENCES conversations ON DELETE CASCADE,
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    PRIMARY KEY (conversation_id, user_id)
);
