-- The files of messages. A row is written before a file's first byte is kept, and goes after its last one is gone, so
-- nothing lies in the store that nobody knows of. `due_at` says when a file may be removed: while it is on its way, a day
-- after it began; never while a message has it; at once when that message goes. `seq` is the message that has it.
CREATE TABLE files (
    conversation_id bigint NOT NULL,
    key text COLLATE "C" NOT NULL CONSTRAINT files_key_form CHECK (key ~ '^[a-z2-7]{26}$'),
    seq bigint,
    due_at timestamptz,
    PRIMARY KEY (conversation_id, key),
    CONSTRAINT files_kept_by_a_message CHECK (due_at IS NOT NULL OR seq IS NOT NULL)
);

CREATE INDEX files_due ON files (due_at) WHERE due_at IS NOT NULL;

-- A message whose encoding is `url` has in its data a file's key, size and name. Whichever way it is written, and whichever
-- way it goes, the file goes with it: in the same transaction, so that no crash comes between.
--
-- A file that is due is nobody's any more, so none is removed under a message that is just being written.
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
