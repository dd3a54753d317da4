-- Users who are or were members of a conversation, or were named by another user.
CREATE TABLE users (
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    -- The `id` of a user in the API of diuit's clients.
    user_number bigint GENERATED ALWAYS AS IDENTITY,
    -- When the last of the user's sockets closed.
    last_seen_at timestamptz,
    -- The user's own data as compact JSON; sent with each of the user's messages.
    meta text,
    -- Bytes of the stored files that the user sent. A file counts from the end of its upload until it is deleted.
    stored_bytes bigint NOT NULL DEFAULT 0,
    CONSTRAINT users_pkey PRIMARY KEY (application_id, user_id),
    CONSTRAINT users_number_key UNIQUE (user_number),
    CONSTRAINT users_application_id_check CHECK (char_length(application_id) BETWEEN 1 AND 255),
    CONSTRAINT users_user_id_check CHECK (char_length(user_id) BETWEEN 1 AND 255),
    CONSTRAINT users_meta_size CHECK (octet_length(meta) <= 5120)
);

-- Every message is looked up here. Few users have meta, so the index is small.
CREATE INDEX users_with_meta ON users (user_number) WHERE meta IS NOT NULL;

-- Names and pictures of users, copied from the events of auth and photos, and from auth's responses about users without
-- a row. A row without a name records that auth has no name, so that auth is not asked again.
CREATE TABLE profiles (
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    full_name text,
    -- Relative to the suite's public URL.
    avatar_path text,
    -- The times of the events: auth and photos both publish names, and their events can arrive out of order.
    named_at timestamptz NOT NULL DEFAULT '-infinity',
    pictured_at timestamptz NOT NULL DEFAULT '-infinity',
    CONSTRAINT profiles_pkey PRIMARY KEY (application_id, user_id)
);

-- Devices of users.
CREATE TABLE devices (
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    -- The device's id from the account server; the session's id if there is none.
    serial text COLLATE "C" NOT NULL,
    -- The `id` of a device in the API of diuit's clients.
    device_number bigint GENERATED ALWAYS AS IDENTITY,
    platform text,
    push_token text,
    -- The number on the app's icon.
    badge bigint,
    seen_at timestamptz NOT NULL,
    -- The session whose push registration was applied, so that each session's registration is applied once.
    session_id text COLLATE "C",
    -- The app's own data about the device, as compact JSON.
    meta text,
    CONSTRAINT devices_pkey PRIMARY KEY (application_id, user_id, serial),
    CONSTRAINT devices_number_key UNIQUE (device_number),
    CONSTRAINT devices_application_id_user_id_fkey FOREIGN KEY (application_id, user_id) REFERENCES users,
    CONSTRAINT devices_serial_check CHECK (char_length(serial) BETWEEN 1 AND 255),
    CONSTRAINT devices_platform_known CHECK (platform IN ('gcm', 'ios_sandbox', 'ios_production')),
    CONSTRAINT devices_push_token_size CHECK (octet_length(push_token) BETWEEN 1 AND 4096),
    CONSTRAINT devices_badge_range CHECK (badge BETWEEN 0 AND 1000000),
    CONSTRAINT devices_meta_size CHECK (octet_length(meta) <= 5120)
);

-- Blocks between users: one list for the whole suite.
CREATE TABLE blocks (
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    blocked_id text COLLATE "C" NOT NULL,
    blocked_at timestamptz NOT NULL,
    CONSTRAINT blocks_pkey PRIMARY KEY (application_id, user_id, blocked_id),
    CONSTRAINT blocks_another CHECK (user_id <> blocked_id)
);

CREATE INDEX blocks_of_blocked ON blocks (application_id, blocked_id, user_id);

-- Conversations: groups, and direct conversations of two users.
CREATE TABLE conversations (
    conversation_id bigint GENERATED ALWAYS AS IDENTITY,
    application_id text COLLATE "C" NOT NULL,
    -- The conversation's token is this secret followed by the id, so a token is looked up by the primary key.
    secret text COLLATE "C" NOT NULL,
    type text NOT NULL,
    label text NOT NULL,
    -- The client's own data.
    meta text,
    -- The ids of users who can join without the token; NULL if there is no list.
    white_list text[] COLLATE "C",
    join_by_token boolean NOT NULL,
    creator_id text COLLATE "C" NOT NULL,
    member_count integer NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT conversations_pkey PRIMARY KEY (conversation_id),
    CONSTRAINT conversations_secret_check CHECK (char_length(secret) = 22),
    CONSTRAINT conversations_type_check CHECK (type IN ('group', 'direct')),
    CONSTRAINT conversations_label_check CHECK (char_length(label) <= 255),
    CONSTRAINT conversations_meta_size CHECK (octet_length(meta) <= 5120),
    CONSTRAINT conversations_member_count_check CHECK (member_count >= 0)
);

-- For the deletion of an application, which includes conversations without members.
CREATE INDEX conversations_of_application ON conversations (application_id, conversation_id);

-- Direct conversations by their two users, at most one for each pair.
CREATE TABLE directs (
    application_id text COLLATE "C" NOT NULL,
    -- The user ids in byte order.
    low_id text COLLATE "C" NOT NULL,
    high_id text COLLATE "C" NOT NULL,
    conversation_id bigint NOT NULL,
    CONSTRAINT directs_pkey PRIMARY KEY (application_id, low_id, high_id),
    CONSTRAINT directs_conversation_key UNIQUE (conversation_id),
    CONSTRAINT directs_conversation_id_fkey FOREIGN KEY (conversation_id) REFERENCES conversations ON DELETE CASCADE,
    CONSTRAINT directs_order CHECK (low_id < high_id)
);

-- The counters of each conversation. Each change of a conversation first locks its head (FOR NO KEY UPDATE, in the
-- order of the ids). The row is narrow, its pages are half empty and it has no second index, so that an update stays on
-- its page.
CREATE TABLE heads (
    conversation_id bigint NOT NULL,
    last_seq bigint NOT NULL,
    last_change bigint NOT NULL,
    -- The number of messages from users; system messages do not count.
    last_user_seq bigint NOT NULL,
    -- The time of the newest message; the creation if there is none.
    last_at timestamptz NOT NULL,
    CONSTRAINT heads_pkey PRIMARY KEY (conversation_id),
    CONSTRAINT heads_conversation_id_fkey FOREIGN KEY (conversation_id) REFERENCES conversations ON DELETE CASCADE
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

-- Members of conversations, with their read marks.
CREATE TABLE members (
    conversation_id bigint NOT NULL,
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    user_number bigint NOT NULL,
    -- Orders the members by the time they joined.
    joined_seq bigint NOT NULL,
    is_admin boolean NOT NULL,
    -- The seq, user_seq and change of the newest message that the member has read.
    read_seq bigint NOT NULL DEFAULT 0,
    read_user_seq bigint NOT NULL DEFAULT 0,
    read_change bigint NOT NULL DEFAULT 0,
    push_enabled boolean NOT NULL DEFAULT true,
    -- Whether the other user of a direct conversation has blocked this member: a copy from blocks, changed under the
    -- head's lock, so that a message needs no further lookup.
    is_blocked boolean NOT NULL DEFAULT false,
    CONSTRAINT members_pkey PRIMARY KEY (conversation_id, user_id),
    CONSTRAINT members_conversation_id_fkey FOREIGN KEY (conversation_id) REFERENCES conversations ON DELETE CASCADE,
    CONSTRAINT members_application_id_user_id_fkey FOREIGN KEY (application_id, user_id) REFERENCES users
) WITH (fillfactor = 70);

CREATE INDEX members_of_user ON members (application_id, user_id, conversation_id);

-- Kicked users, who cannot join by the token until an admin adds them again.
CREATE TABLE kicks (
    conversation_id bigint NOT NULL,
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    CONSTRAINT kicks_pkey PRIMARY KEY (conversation_id, user_id),
    CONSTRAINT kicks_conversation_id_fkey FOREIGN KEY (conversation_id) REFERENCES conversations ON DELETE CASCADE
);

-- Users who left a conversation by themselves. An admin cannot add them. Joining deletes the row.
CREATE TABLE leaves (
    conversation_id bigint NOT NULL,
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    CONSTRAINT leaves_pkey PRIMARY KEY (conversation_id, user_id),
    CONSTRAINT leaves_conversation_id_fkey FOREIGN KEY (conversation_id) REFERENCES conversations ON DELETE CASCADE
);

-- Messages. The sender's application is the conversation's. There is no foreign key, because the head's lock already
-- guarantees what a key would check again for every row.
CREATE TABLE messages (
    conversation_id bigint NOT NULL,
    -- The position in the conversation, without gaps.
    seq bigint NOT NULL,
    -- The number of the message's last change, among all changes of the conversation.
    change bigint NOT NULL,
    -- The number of messages from users up to this one, so that an unread count is a difference of two numbers.
    user_seq bigint NOT NULL,
    -- NULL in system messages.
    sender_id text COLLATE "C",
    sender_number bigint,
    -- The client's id of the message, so that a repeated request does not send it twice.
    client_message_id text COLLATE "C",
    data text NOT NULL,
    mime text NOT NULL,
    encoding text NOT NULL,
    meta text,
    -- The client's options for the push notification, as JSON.
    push text,
    created_at timestamptz NOT NULL,
    edited_at timestamptz,
    deleted_at timestamptz,
    -- The seq of the message that this one replies to.
    reply_to bigint,
    -- The number of rows in reactions, or NULL. A history reads reactions only for messages that have some.
    reaction_count integer,
    CONSTRAINT messages_pkey PRIMARY KEY (conversation_id, seq),
    CONSTRAINT messages_client_key UNIQUE (conversation_id, sender_id, client_message_id),
    CONSTRAINT messages_change_key UNIQUE (conversation_id, change),
    CONSTRAINT messages_data_size CHECK (octet_length(data) <= 65536),
    CONSTRAINT messages_mime_size CHECK (octet_length(mime) BETWEEN 1 AND 255),
    CONSTRAINT messages_encoding_size CHECK (octet_length(encoding) BETWEEN 1 AND 255),
    CONSTRAINT messages_meta_size CHECK (octet_length(meta) <= 5120)
);

CREATE INDEX messages_by_time ON messages (conversation_id, created_at, seq);

-- An account deletion searches the system messages for the user's name; other messages are not read.
CREATE INDEX messages_system_idx ON messages (conversation_id) WHERE mime = 'application/diuit-chat-sys-message';

-- Reactions to messages; `change` orders them.
CREATE TABLE reactions (
    conversation_id bigint NOT NULL,
    seq bigint NOT NULL,
    emoji text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    change bigint NOT NULL,
    CONSTRAINT reactions_pkey PRIMARY KEY (conversation_id, seq, emoji, user_id),
    CONSTRAINT reactions_emoji_size CHECK (octet_length(emoji) BETWEEN 1 AND 64)
);

-- Files of messages. A row is inserted before the first byte is stored and deleted after the last byte is deleted, so
-- every stored file has a row.
CREATE TABLE files (
    conversation_id bigint NOT NULL,
    key text COLLATE "C" NOT NULL,
    -- The message that contains the file.
    seq bigint,
    -- When the file may be deleted: a day after the upload began; NULL while a message contains the file; at once when
    -- that message is deleted.
    due_at timestamptz,
    -- The user_number of the user who uploaded the file.
    owner_number bigint,
    -- Bytes; NULL until the upload is complete and the file counts in users.stored_bytes.
    size bigint,
    CONSTRAINT files_pkey PRIMARY KEY (conversation_id, key),
    CONSTRAINT files_key_form CHECK (key ~ '^[a-z2-7]{26}$'),
    CONSTRAINT files_kept_by_a_message CHECK (due_at IS NOT NULL OR seq IS NOT NULL)
);

CREATE INDEX files_due ON files (due_at) WHERE due_at IS NOT NULL;

-- The data of a message with the encoding `url` is a file's key, size and name. The triggers change the file in the
-- transaction that changes the message, so that a crash cannot separate them.
--
-- A file that is due may be deleted at any time, so a new message cannot contain it.
CREATE FUNCTION keep_file() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    UPDATE files SET seq = NEW.seq, due_at = NULL
    WHERE files.conversation_id = NEW.conversation_id AND files.key = split_part(NEW.data, ' ', 1)
        AND files.due_at > clock_timestamp();
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the file of the message is not there'
            USING ERRCODE = 'foreign_key_violation', CONSTRAINT = 'messages_file';
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION release_file() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    UPDATE files SET due_at = clock_timestamp()
    WHERE files.conversation_id = OLD.conversation_id AND files.key = split_part(OLD.data, ' ', 1);
    RETURN NULL;
END $$;

CREATE FUNCTION release_files() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    UPDATE files SET due_at = clock_timestamp() WHERE files.conversation_id = OLD.conversation_id;
    RETURN NULL;
END $$;

CREATE TRIGGER messages_keep_file AFTER INSERT ON messages
FOR EACH ROW WHEN (NEW.encoding = 'url') EXECUTE FUNCTION keep_file();

CREATE TRIGGER messages_release_file AFTER UPDATE OF data, encoding ON messages
FOR EACH ROW WHEN (OLD.encoding = 'url' AND (NEW.data <> OLD.data OR NEW.encoding <> 'url'))
EXECUTE FUNCTION release_file();

CREATE TRIGGER messages_release_file_with_row AFTER DELETE ON messages
FOR EACH ROW WHEN (OLD.encoding = 'url') EXECUTE FUNCTION release_file();

CREATE TRIGGER conversations_release_files AFTER DELETE ON conversations
FOR EACH ROW EXECUTE FUNCTION release_files();

-- The search index is written after the messages, in the background, so that sending a message does not get slower. It
-- can be rebuilt from the messages.

-- The last change of each conversation that is in the index. Later changes are searched in the messages themselves.
CREATE TABLE search_marks (
    conversation_id bigint NOT NULL,
    indexed_change bigint NOT NULL,
    CONSTRAINT search_marks_pkey PRIMARY KEY (conversation_id),
    CONSTRAINT search_marks_conversation_id_fkey FOREIGN KEY (conversation_id) REFERENCES conversations
        ON DELETE CASCADE
) WITH (fillfactor = 70);

-- Ranges of 4,096 seqs of a conversation, with the times of their first and last messages.
CREATE TABLE search_ranges (
    conversation_id bigint NOT NULL,
    range_number bigint NOT NULL,
    first_at timestamptz NOT NULL,
    last_at timestamptz NOT NULL,
    CONSTRAINT search_ranges_pkey PRIMARY KEY (conversation_id, range_number),
    CONSTRAINT search_ranges_conversation_id_fkey FOREIGN KEY (conversation_id) REFERENCES conversations
        ON DELETE CASCADE
) WITH (fillfactor = 70);

-- The words of messages.
CREATE TABLE search_entries (
    conversation_id bigint NOT NULL,
    seq bigint NOT NULL,
    created_at timestamptz NOT NULL,
    -- Each word has the prefix of its conversation and range in base 36: `2s.0.walk`. So the index's list of a word
    -- covers one conversation and at most 4,096 messages. The service splits texts into words, in any script, so the
    -- index does not depend on the database's locale.
    words tsvector NOT NULL,
    CONSTRAINT search_entries_pkey PRIMARY KEY (conversation_id, seq)
);

CREATE INDEX search_words ON search_entries USING gin (words) WITH (fastupdate = on, gin_pending_list_limit = 256);

-- Messages that could not be indexed. The index continues with later messages and retries each of these at retry_at.
CREATE TABLE search_failures (
    conversation_id bigint NOT NULL,
    seq bigint NOT NULL,
    -- The message's change that failed. A later change is indexed with the conversation's other messages.
    change bigint NOT NULL,
    -- `infinity` once the message is set aside (set_aside_rows, kind searched_message).
    retry_at timestamptz NOT NULL,
    CONSTRAINT search_failures_pkey PRIMARY KEY (conversation_id, seq),
    CONSTRAINT search_failures_conversation_id_fkey FOREIGN KEY (conversation_id) REFERENCES conversations
        ON DELETE CASCADE
);

CREATE INDEX search_failures_retry_at ON search_failures (retry_at);

-- New messages, and deletions, to deliver to push; written in the transaction of the change.
CREATE TABLE outbox (
    outbox_id bigint GENERATED ALWAYS AS IDENTITY,
    -- NULL if the row is not about a conversation.
    conversation_id bigint,
    -- The first and last seq of the messages.
    from_seq bigint,
    to_seq bigint,
    written_at timestamptz NOT NULL,
    kind text NOT NULL DEFAULT 'messages',
    -- The content as compact JSON; NULL for new messages.
    body text,
    -- The worker that delivers the row until claimed_until; NULL in a new row. The empty string marks a row that waits
    -- for a retry or, with the claimed_until `infinity`, is set aside.
    claimed_by text COLLATE "C",
    claimed_until timestamptz,
    CONSTRAINT outbox_pkey PRIMARY KEY (outbox_id),
    CONSTRAINT outbox_seqs_ordered CHECK (to_seq >= from_seq)
);

-- Workers search for conversations that no other worker has claimed.
CREATE INDEX outbox_claimed_idx ON outbox (claimed_until) INCLUDE (conversation_id) WHERE claimed_until IS NOT NULL;

-- The name under which the instances of this database find each other on a shared event bus. One row.
CREATE TABLE bus (
    name text NOT NULL,
    CONSTRAINT bus_name_form CHECK (name ~ '^[a-z0-9_]{1,48}$')
);

INSERT INTO bus (name) VALUES ('roost_' || replace(gen_random_uuid()::text, '-', ''));

-- Joins of the last minute, for instances that missed a notification.
CREATE TABLE member_joins (
    join_id bigint GENERATED ALWAYS AS IDENTITY,
    conversation_id bigint NOT NULL,
    application_id text COLLATE "C" NOT NULL,
    -- NULL if there are too many users to list.
    users text[] COLLATE "C",
    joined_at timestamptz NOT NULL,
    CONSTRAINT member_joins_pkey PRIMARY KEY (join_id)
);

CREATE INDEX member_joins_by_time ON member_joins (joined_at);

-- Running instances. Each renews its lease; its rows in connected_devices are valid until the lease ends.
CREATE TABLE instances (
    instance_id text COLLATE "C" NOT NULL,
    lease_until timestamptz NOT NULL,
    CONSTRAINT instances_pkey PRIMARY KEY (instance_id)
);

-- Devices with an open socket, and the instance of each socket. There is no foreign key to instances, because an
-- instance's row is inserted before these rows and deleted after them.
CREATE TABLE connected_devices (
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    device_id text COLLATE "C" NOT NULL,
    instance_id text COLLATE "C" NOT NULL,
    connected_at timestamptz NOT NULL,
    CONSTRAINT connected_devices_pkey PRIMARY KEY (application_id, user_id, device_id, instance_id)
);

CREATE INDEX connected_devices_of_instance ON connected_devices (instance_id);

-- Deleted conversations whose messages are still being deleted, in batches.
CREATE TABLE conversation_deletions (
    conversation_id bigint NOT NULL,
    deleted_at timestamptz NOT NULL,
    application_id text COLLATE "C",
    CONSTRAINT conversation_deletions_pkey PRIMARY KEY (conversation_id)
);

-- Deleted users whose data is still being deleted, in batches.
CREATE TABLE user_deletions (
    deletion_id bigint GENERATED ALWAYS AS IDENTITY,
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    deleted_at timestamptz NOT NULL,
    -- The conversations that the user has yet to leave.
    conversations bigint[] NOT NULL,
    -- All conversations up to this id have been searched for the user's name.
    searched_up_to bigint NOT NULL DEFAULT 0,
    CONSTRAINT user_deletions_pkey PRIMARY KEY (deletion_id)
);
