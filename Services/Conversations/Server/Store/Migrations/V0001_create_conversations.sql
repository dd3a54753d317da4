-- Everybody who has ever been in a conversation. A user is the pair (application, user id); the number is what diuit's
-- clients know as a user's `id`.
CREATE TABLE users (
    application_id text COLLATE "C" NOT NULL CHECK (char_length(application_id) BETWEEN 1 AND 255),
    user_id text COLLATE "C" NOT NULL CHECK (char_length(user_id) BETWEEN 1 AND 255),
    user_number bigint GENERATED ALWAYS AS IDENTITY,
    PRIMARY KEY (application_id, user_id),
    CONSTRAINT users_number_key UNIQUE (user_number)
);

-- A conversation's token is its secret followed by its id, so a token is looked up by the primary key.
CREATE TABLE conversations (
    conversation_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    application_id text COLLATE "C" NOT NULL,
    secret text COLLATE "C" NOT NULL CHECK (char_length(secret) = 22),
    type text NOT NULL CHECK (type IN ('group')),
    label text NOT NULL CHECK (char_length(label) <= 255),
    meta text CONSTRAINT conversations_meta_size CHECK (octet_length(meta) <= 5120),
    white_list text[] COLLATE "C",
    join_by_token boolean NOT NULL,
    creator_id text COLLATE "C" NOT NULL,
    member_count integer NOT NULL CHECK (member_count >= 0),
    created_at timestamptz NOT NULL
);

-- What moves with every message, and what everybody who changes a conversation locks first (FOR NO KEY UPDATE, in the
-- order of the ids). Narrow, half empty and without a second index, so that an update stays on its page.
CREATE TABLE heads (
    conversation_id bigint PRIMARY KEY REFERENCES conversations ON DELETE CASCADE,
    last_seq bigint NOT NULL,
    last_change bigint NOT NULL,
    last_user_seq bigint NOT NULL,
    last_at timestamptz NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

-- A mark is the highest seq read. `joined_seq` is the order in which members came.
CREATE TABLE members (
    conversation_id bigint NOT NULL REFERENCES conversations ON DELETE CASCADE,
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    user_number bigint NOT NULL,
    joined_seq bigint NOT NULL,
    is_admin boolean NOT NULL,
    read_seq bigint NOT NULL DEFAULT 0,
    read_user_seq bigint NOT NULL DEFAULT 0,
    read_change bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (conversation_id, user_id),
    FOREIGN KEY (application_id, user_id) REFERENCES users
) WITH (fillfactor = 70);

CREATE INDEX members_of_user ON members (application_id, user_id, conversation_id);

-- Who may not come back by the token until an admin adds them again.
CREATE TABLE kicks (
    conversation_id bigint NOT NULL REFERENCES conversations ON DELETE CASCADE,
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    PRIMARY KEY (conversation_id, user_id)
);

-- The application of a sender is its conversation's. A system message has no sender. `user_seq` counts the messages that
-- people sent up to this one, so that unread messages are a difference of two numbers. No foreign key: the head's lock
-- holds what one would check again for every row.
CREATE TABLE messages (
    conversation_id bigint NOT NULL,
    seq bigint NOT NULL,
    change bigint NOT NULL,
    user_seq bigint NOT NULL,
    sender_id text COLLATE "C",
    sender_number bigint,
    client_message_id text COLLATE "C",
    data text NOT NULL CONSTRAINT messages_data_size CHECK (octet_length(data) <= 65536),
    mime text NOT NULL CONSTRAINT messages_mime_size CHECK (octet_length(mime) BETWEEN 1 AND 255),
    encoding text NOT NULL CONSTRAINT messages_encoding_size CHECK (octet_length(encoding) BETWEEN 1 AND 255),
    meta text CONSTRAINT messages_meta_size CHECK (octet_length(meta) <= 5120),
    push text,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (conversation_id, seq),
    CONSTRAINT messages_client_key UNIQUE (conversation_id, sender_id, client_message_id),
    CONSTRAINT messages_change_key UNIQUE (conversation_id, change)
);

CREATE INDEX messages_by_time ON messages (conversation_id, created_at, seq);

-- What was written and has not been handed on: the messages from `from_seq` to `to_seq`.
CREATE TABLE outbox (
    outbox_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    conversation_id bigint NOT NULL,
    from_seq bigint NOT NULL,
    to_seq bigint NOT NULL,
    written_at timestamptz NOT NULL
);
