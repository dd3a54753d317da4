-- Whatever lies in the store of files: a row is written before a blob's first byte is kept, and goes after its last one is
-- gone, so nothing lies there that nobody knows of. `due_at` says when it may be removed: while it is on its way, a day after
-- it began; never while something has it; at once when that goes. One with a media type is served under its key.
--
-- Rows of people who are gone stay until their blobs are, so there is no foreign key.
CREATE TABLE blobs (
    owner_id bigint NOT NULL,
    key text COLLATE "C" NOT NULL CONSTRAINT blobs_key_form CHECK (key ~ '^[a-z2-7]{26}$'),
    media_type text,
    size bigint,
    due_at timestamptz,
    PRIMARY KEY (owner_id, key),
    CONSTRAINT blobs_stored_have_size CHECK (due_at IS NOT NULL OR size IS NOT NULL)
);

CREATE INDEX blobs_due ON blobs (due_at) WHERE due_at IS NOT NULL;

-- Images that people have brought, each once: two uploads of one person with the same bytes share it. `uses` counts them;
-- with the last one it goes, and its two blobs are due.
CREATE TABLE files (
    owner_id bigint NOT NULL,
    file_id bigint GENERATED ALWAYS AS IDENTITY,
    sha256 bytea NOT NULL CONSTRAINT files_sha256_length CHECK (length(sha256) = 32),
    full_key text COLLATE "C" NOT NULL,
    thumbnail_key text COLLATE "C" NOT NULL,
    width integer NOT NULL,
    height integer NOT NULL,
    blurhash text NOT NULL,
    uses bigint NOT NULL DEFAULT 0 CONSTRAINT files_uses CHECK (uses >= 0),
    PRIMARY KEY (owner_id, file_id),
    CONSTRAINT files_once UNIQUE (owner_id, sha256)
);

-- Uploads. One that nothing has expires; a post (`post_number` among its author's) or a profile picture keeps it. Until it
-- has a file it is on its way, in pieces: `length` bytes are to come, `received` are there.
CREATE TABLE uploads (
    owner_id bigint NOT NULL CONSTRAINT uploads_owner REFERENCES people,
    upload_id text COLLATE "C" NOT NULL,
    file_id bigint,
    length bigint,
    received bigint,
    metadata text NOT NULL DEFAULT '',
    post_number bigint,
    is_picture boolean NOT NULL DEFAULT false,
    expires_at timestamptz,
    PRIMARY KEY (owner_id, upload_id),
    CONSTRAINT uploads_file FOREIGN KEY (owner_id, file_id) REFERENCES files,
    CONSTRAINT uploads_file_or_length CHECK (file_id IS NOT NULL OR length IS NOT NULL),
    CONSTRAINT uploads_received CHECK (received BETWEEN 0 AND length),
    CONSTRAINT uploads_used_once CHECK (post_number IS NULL OR NOT is_picture),
    CONSTRAINT uploads_used_xor_expiring CHECK ((expires_at IS NULL) = (post_number IS NOT NULL OR is_picture)),
    CONSTRAINT uploads_used_have_file CHECK (expires_at IS NOT NULL OR file_id IS NOT NULL)
);

CREATE INDEX uploads_expiring ON uploads (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX uploads_pending ON uploads (owner_id, expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX uploads_of_post ON uploads (owner_id, post_number) WHERE post_number IS NOT NULL;
CREATE INDEX uploads_of_file ON uploads (owner_id, file_id);

-- The pieces of an upload on its way, each a blob, from `start` on.
CREATE TABLE upload_pieces (
    owner_id bigint NOT NULL,
    upload_id text COLLATE "C" NOT NULL,
    start bigint NOT NULL,
    key text COLLATE "C" NOT NULL,
    PRIMARY KEY (owner_id, upload_id, start),
    CONSTRAINT upload_pieces_upload FOREIGN KEY (owner_id, upload_id) REFERENCES uploads ON DELETE CASCADE
);

-- Whichever way an upload goes, its file goes with it if it was the last: in the same transaction, so that no crash comes
-- between.
CREATE FUNCTION count_file() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF TG_OP <> 'DELETE' AND NEW.file_id IS NOT NULL THEN
        UPDATE files SET uses = uses + 1 WHERE owner_id = NEW.owner_id AND file_id = NEW.file_id;
    END IF;
    IF TG_OP <> 'INSERT' AND OLD.file_id IS NOT NULL THEN
        UPDATE files SET uses = uses - 1 WHERE owner_id = OLD.owner_id AND file_id = OLD.file_id;
        DELETE FROM files WHERE owner_id = OLD.owner_id AND file_id = OLD.file_id AND uses = 0;
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION release_file() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    UPDATE blobs SET due_at = clock_timestamp()
    WHERE owner_id = OLD.owner_id AND key IN (OLD.full_key, OLD.thumbnail_key);
    RETURN NULL;
END $$;

CREATE FUNCTION release_piece() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    UPDATE blobs SET due_at = clock_timestamp() WHERE owner_id = OLD.owner_id AND key = OLD.key;
    RETURN NULL;
END $$;

CREATE TRIGGER uploads_count_file AFTER INSERT OR DELETE OR UPDATE OF file_id ON uploads
FOR EACH ROW EXECUTE FUNCTION count_file();

CREATE TRIGGER files_release AFTER DELETE ON files FOR EACH ROW EXECUTE FUNCTION release_file();

CREATE TRIGGER upload_pieces_release AFTER DELETE ON upload_pieces FOR EACH ROW EXECUTE FUNCTION release_piece();
