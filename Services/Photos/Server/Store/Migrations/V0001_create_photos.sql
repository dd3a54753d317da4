-- Users that photos has received a request or an event about. Inside the schema, a user is identified by a number,
-- because rows that refer to users are small and numerous.
--
-- A post takes its number and its time under the lock of its author's row. So last_posted_at never decreases, no number
-- is used twice, and a post that is committed later has a later position among its author's posts.
CREATE TABLE people (
    person_id bigint GENERATED ALWAYS AS IDENTITY,
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    full_name text NOT NULL,
    picture_url text,
    bio text NOT NULL DEFAULT '',
    searchable boolean NOT NULL DEFAULT true,
    post_count bigint NOT NULL DEFAULT 0,
    follower_count bigint NOT NULL DEFAULT 0,
    following_count bigint NOT NULL DEFAULT 0,
    last_post_number bigint NOT NULL DEFAULT 0,
    last_posted_at timestamptz,
    created_at timestamptz NOT NULL,
    -- False for a user who was only named by other users, so that a user can be blocked before the first visit. Such a
    -- user is not visible.
    has_visited boolean NOT NULL DEFAULT true,
    CONSTRAINT people_pkey PRIMARY KEY (person_id),
    CONSTRAINT people_user_key UNIQUE (application_id, user_id),
    CONSTRAINT people_counts CHECK (post_count >= 0 AND follower_count >= 0 AND following_count >= 0)
) WITH (fillfactor = 80);

-- Case-folded names that user search finds. Each word of a full name is the first word of one row. Users who are not
-- searchable have no rows.
CREATE TABLE people_names (
    application_id text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    person_id bigint NOT NULL,
    CONSTRAINT people_names_pkey PRIMARY KEY (application_id, name, person_id),
    CONSTRAINT people_names_person_id_fkey FOREIGN KEY (person_id) REFERENCES people
);

CREATE INDEX people_names_of_person ON people_names (person_id);

-- Deleted users whose data is still being deleted, in batches.
CREATE TABLE person_deletions (
    person_id bigint NOT NULL,
    deleted_at timestamptz NOT NULL,
    CONSTRAINT person_deletions_pkey PRIMARY KEY (person_id),
    CONSTRAINT person_deletions_person_id_fkey FOREIGN KEY (person_id) REFERENCES people ON DELETE CASCADE
);

-- Pictures at external providers to import for users without a picture. Each is imported once, after the user's first
-- visit.
CREATE TABLE avatar_imports (
    person_id bigint NOT NULL,
    url text NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    -- `infinity` before the user's first visit.
    due_at timestamptz NOT NULL,
    CONSTRAINT avatar_imports_pkey PRIMARY KEY (person_id),
    CONSTRAINT avatar_imports_person_id_fkey FOREIGN KEY (person_id) REFERENCES people ON DELETE CASCADE,
    CONSTRAINT avatar_imports_url_length CHECK (char_length(url) BETWEEN 1 AND 2048)
);

CREATE INDEX avatar_imports_due ON avatar_imports (due_at);

-- Blocks between users: a copy of the suite's list, which conversations owns. A block hides both users from each other.
CREATE TABLE blocks (
    blocker_id bigint NOT NULL,
    blocked_id bigint NOT NULL,
    CONSTRAINT blocks_pkey PRIMARY KEY (blocker_id, blocked_id),
    CONSTRAINT blocks_blocker_id_fkey FOREIGN KEY (blocker_id) REFERENCES people,
    CONSTRAINT blocks_blocked_id_fkey FOREIGN KEY (blocked_id) REFERENCES people,
    CONSTRAINT blocks_another CHECK (blocker_id <> blocked_id)
);

CREATE INDEX blocks_of_blocked ON blocks (blocked_id, blocker_id);

-- The position of the backfill, which copies blocks from before photos received events about blocks. One row.
CREATE TABLE block_backfill (
    is_single_row boolean NOT NULL DEFAULT true,
    -- The last entry of the list that was copied.
    application_id text COLLATE "C" NOT NULL DEFAULT '',
    user_id text COLLATE "C" NOT NULL DEFAULT '',
    blocked_id text COLLATE "C" NOT NULL DEFAULT '',
    began_at timestamptz,
    ended_at timestamptz,
    CONSTRAINT block_backfill_pkey PRIMARY KEY (is_single_row),
    CONSTRAINT block_backfill_single_row CHECK (is_single_row)
);

INSERT INTO block_backfill DEFAULT VALUES;

-- Events about blocks that arrived during the backfill. They may be newer than the list, so the backfill ignores the
-- list's entry for that block, or all entries of the user if blocked_id is empty.
CREATE TABLE block_backfill_events (
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    blocked_id text COLLATE "C" NOT NULL DEFAULT '',
    CONSTRAINT block_backfill_events_pkey PRIMARY KEY (application_id, user_id, blocked_id)
);

-- Posts. A post is identified by (author_id, number). All tables of a post's data begin with the same two columns, so
-- that they can be sharded together.
--
-- A transaction that adds or removes a like or comment also changes like_count or comment_count, under this row's lock.
-- The lock also prevents new likes and comments while a post is deleted. So the tables that can be large have no
-- foreign key to this one, and are cleared in batches after the post is deleted.
CREATE TABLE posts (
    author_id bigint NOT NULL,
    number bigint NOT NULL,
    application_id text COLLATE "C" NOT NULL,
    text text NOT NULL,
    created_at timestamptz NOT NULL,
    edited_at timestamptz,
    hidden_at timestamptz,
    like_count bigint NOT NULL DEFAULT 0,
    comment_count bigint NOT NULL DEFAULT 0,
    last_comment_id bigint NOT NULL DEFAULT 0,
    CONSTRAINT posts_pkey PRIMARY KEY (author_id, number),
    CONSTRAINT posts_author_id_fkey FOREIGN KEY (author_id) REFERENCES people,
    CONSTRAINT posts_counts CHECK (like_count >= 0 AND comment_count >= 0)
) WITH (fillfactor = 80);

CREATE INDEX posts_of_application ON posts (application_id, created_at DESC, author_id DESC, number DESC)
WHERE hidden_at IS NULL;

-- Reads the posts of an author in feed order from any position: the user's own posts, and posts of authors with very
-- many followers.
CREATE INDEX posts_of_author ON posts (author_id, created_at DESC, number DESC);

-- The images of posts, with all values that readers need. An upload is used in one post and never changes.
CREATE TABLE post_images (
    author_id bigint NOT NULL,
    number bigint NOT NULL,
    -- The position in the post.
    ordinal smallint NOT NULL,
    url text NOT NULL,
    thumbnail_url text NOT NULL,
    -- Pixels.
    width integer NOT NULL,
    height integer NOT NULL,
    blurhash text NOT NULL,
    alt text,
    CONSTRAINT post_images_pkey PRIMARY KEY (author_id, number, ordinal),
    CONSTRAINT post_images_author_id_number_fkey FOREIGN KEY (author_id, number) REFERENCES posts ON DELETE CASCADE
);

-- The case-folded hashtags of posts.
CREATE TABLE post_hashtags (
    author_id bigint NOT NULL,
    number bigint NOT NULL,
    -- The position in the post.
    ordinal smallint NOT NULL,
    application_id text COLLATE "C" NOT NULL,
    tag text COLLATE "C" NOT NULL,
    -- The post's time, so that the posts of a tag are read in feed order.
    created_at timestamptz NOT NULL,
    CONSTRAINT post_hashtags_pkey PRIMARY KEY (author_id, number, ordinal),
    CONSTRAINT post_hashtags_once UNIQUE (application_id, tag, created_at, author_id, number),
    CONSTRAINT post_hashtags_author_id_number_fkey FOREIGN KEY (author_id, number) REFERENCES posts ON DELETE CASCADE
);

-- The number of posts with each hashtag. A hashtag without posts has no row.
CREATE TABLE hashtags (
    application_id text COLLATE "C" NOT NULL,
    tag text COLLATE "C" NOT NULL,
    post_count bigint NOT NULL,
    CONSTRAINT hashtags_pkey PRIMARY KEY (application_id, tag),
    CONSTRAINT hashtags_counts CHECK (post_count >= 0)
) WITH (fillfactor = 80);

-- Comments on posts.
CREATE TABLE comments (
    author_id bigint NOT NULL,
    number bigint NOT NULL,
    -- Counts the comments of the post in the order of their creation; assigned under the post's lock.
    comment_id bigint NOT NULL,
    writer_id bigint NOT NULL,
    text text NOT NULL,
    created_at timestamptz NOT NULL,
    edited_at timestamptz,
    CONSTRAINT comments_pkey PRIMARY KEY (author_id, number, comment_id),
    CONSTRAINT comments_writer_id_fkey FOREIGN KEY (writer_id) REFERENCES people
);

CREATE INDEX comments_of_writer ON comments (writer_id, author_id, number, comment_id);

-- Likes of posts.
CREATE TABLE likes (
    author_id bigint NOT NULL,
    number bigint NOT NULL,
    liker_id bigint NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT likes_pkey PRIMARY KEY (author_id, number, liker_id),
    CONSTRAINT likes_liker_id_fkey FOREIGN KEY (liker_id) REFERENCES people
);

CREATE INDEX likes_in_order ON likes (author_id, number, created_at, liker_id);
CREATE INDEX likes_of_liker ON likes (liker_id, author_id, number);

-- Flagged posts (comment_id 0) and comments.
CREATE TABLE flagged_items (
    author_id bigint NOT NULL,
    number bigint NOT NULL,
    comment_id bigint NOT NULL,
    application_id text COLLATE "C" NOT NULL,
    flag_count bigint NOT NULL DEFAULT 0,
    -- Never changes, so that a list in this order is stable while users flag items.
    first_at timestamptz NOT NULL,
    last_at timestamptz NOT NULL,
    CONSTRAINT flagged_items_pkey PRIMARY KEY (author_id, number, comment_id),
    CONSTRAINT flagged_items_counts CHECK (flag_count >= 0)
);

CREATE INDEX flagged_items_of_application ON flagged_items (application_id, first_at, author_id, number, comment_id);

-- The users who flagged an item, once each.
CREATE TABLE flags (
    author_id bigint NOT NULL,
    number bigint NOT NULL,
    comment_id bigint NOT NULL,
    flagger_id bigint NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT flags_pkey PRIMARY KEY (author_id, number, comment_id, flagger_id),
    CONSTRAINT flags_flagger_id_fkey FOREIGN KEY (flagger_id) REFERENCES people
);

CREATE INDEX flags_of_flagger ON flags (flagger_id, author_id, number, comment_id);

-- Deleted posts whose comments, likes and flags are still being deleted.
CREATE TABLE deleted_posts (
    author_id bigint NOT NULL,
    number bigint NOT NULL,
    CONSTRAINT deleted_posts_pkey PRIMARY KEY (author_id, number)
);

-- Posts that another service created for a user, by that service's key. A repeated request returns the same post, even
-- if it has been deleted. A row is kept for longer than any service repeats a request.
CREATE TABLE delegated_posts (
    author_id bigint NOT NULL,
    key uuid NOT NULL,
    -- NULL only within the transaction that creates the post.
    number bigint,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT delegated_posts_pkey PRIMARY KEY (author_id, key),
    CONSTRAINT delegated_posts_author_id_fkey FOREIGN KEY (author_id) REFERENCES people ON DELETE CASCADE
);

CREATE INDEX delegated_posts_by_time ON delegated_posts (created_at);

-- Followers, and the state of their home feeds.
CREATE TABLE follows (
    follower_id bigint NOT NULL,
    followee_id bigint NOT NULL,
    -- The last of the followee's posts that was copied to the follower's feed. Post numbers are assigned under the
    -- author's lock, so no lower number is committed later. NULL if posts are not copied but merged when the feed is
    -- read, as for followees with very many followers.
    synced_number bigint,
    created_at timestamptz NOT NULL,
    CONSTRAINT follows_pkey PRIMARY KEY (follower_id, followee_id),
    CONSTRAINT follows_follower_id_fkey FOREIGN KEY (follower_id) REFERENCES people,
    CONSTRAINT follows_followee_id_fkey FOREIGN KEY (followee_id) REFERENCES people,
    CONSTRAINT follows_another CHECK (follower_id <> followee_id)
) WITH (fillfactor = 80);

-- A user's followers, the newest first. Followees are few enough to be sorted when read.
CREATE INDEX follows_of_followee ON follows (followee_id, created_at DESC, follower_id DESC);

-- Posts that were copied to home feeds. A deleted post may have a row until a reader finds it; so may a hidden post,
-- which may become visible again. There are no foreign keys: rows are written by the thousand and checked when read.
CREATE TABLE feed (
    owner_id bigint NOT NULL,
    created_at timestamptz NOT NULL,
    author_id bigint NOT NULL,
    number bigint NOT NULL,
    CONSTRAINT feed_pkey PRIMARY KEY (owner_id, created_at, author_id, number)
);

-- Blobs in the file store. A row is inserted before the first byte is stored and deleted after the last byte is
-- deleted, so every stored blob has a row. There is no foreign key, because the rows of deleted users stay until their
-- blobs are deleted.
CREATE TABLE blobs (
    owner_id bigint NOT NULL,
    key text COLLATE "C" NOT NULL,
    -- A blob with a media type is served under its key.
    media_type text,
    -- Bytes.
    size bigint,
    -- When the blob may be deleted: a day after the upload began; NULL while the blob is in use; at once when its last
    -- use ends.
    due_at timestamptz,
    CONSTRAINT blobs_pkey PRIMARY KEY (owner_id, key),
    CONSTRAINT blobs_key_form CHECK (key ~ '^[a-z2-7]{26}$'),
    CONSTRAINT blobs_stored_have_size CHECK (due_at IS NOT NULL OR size IS NOT NULL)
);

CREATE INDEX blobs_due ON blobs (due_at) WHERE due_at IS NOT NULL;

-- Bytes of the blobs in use by a user's uploads, posts and profile picture: the blobs whose due_at is NULL.
CREATE TABLE stored_bytes (
    owner_id bigint NOT NULL,
    bytes bigint NOT NULL,
    CONSTRAINT stored_bytes_pkey PRIMARY KEY (owner_id)
) WITH (fillfactor = 50);

-- Keeps stored_bytes equal to the sizes of the blobs in use.
CREATE FUNCTION count_blob() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    change bigint := (CASE WHEN TG_OP <> 'DELETE' AND NEW.due_at IS NULL THEN NEW.size ELSE 0 END)
        - (CASE WHEN TG_OP <> 'INSERT' AND OLD.due_at IS NULL THEN OLD.size ELSE 0 END);
    owner bigint := CASE WHEN TG_OP = 'DELETE' THEN OLD.owner_id ELSE NEW.owner_id END;
BEGIN
    IF change <> 0 THEN
        INSERT INTO stored_bytes AS known (owner_id, bytes) VALUES (owner, change)
        ON CONFLICT (owner_id) DO UPDATE SET bytes = known.bytes + excluded.bytes;
        DELETE FROM stored_bytes WHERE owner_id = owner AND bytes = 0;
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER blobs_count AFTER INSERT OR DELETE OR UPDATE OF due_at, size ON blobs
FOR EACH ROW EXECUTE FUNCTION count_blob();

-- Uploaded images. Uploads of a user with the same bytes share one row. The end of the last use deletes the row and
-- makes its two blobs due.
CREATE TABLE files (
    owner_id bigint NOT NULL,
    file_id bigint GENERATED ALWAYS AS IDENTITY,
    sha256 bytea NOT NULL,
    full_key text COLLATE "C" NOT NULL,
    thumbnail_key text COLLATE "C" NOT NULL,
    -- Pixels.
    width integer NOT NULL,
    height integer NOT NULL,
    blurhash text NOT NULL,
    -- The number of uploads with this file.
    uses bigint NOT NULL DEFAULT 0,
    CONSTRAINT files_pkey PRIMARY KEY (owner_id, file_id),
    CONSTRAINT files_once UNIQUE (owner_id, sha256),
    CONSTRAINT files_sha256_length CHECK (length(sha256) = 32),
    CONSTRAINT files_uses CHECK (uses >= 0)
);

-- Uploads. An upload in progress has no file yet. A complete upload is used by a post or as a profile picture, or
-- expires.
CREATE TABLE uploads (
    owner_id bigint NOT NULL,
    upload_id text COLLATE "C" NOT NULL,
    file_id bigint,
    -- Of an upload in progress: the total and the received number of bytes.
    length bigint,
    received bigint,
    metadata text NOT NULL DEFAULT '',
    -- The number of the owner's post that contains the image.
    post_number bigint,
    is_picture boolean NOT NULL DEFAULT false,
    expires_at timestamptz,
    CONSTRAINT uploads_pkey PRIMARY KEY (owner_id, upload_id),
    CONSTRAINT uploads_owner FOREIGN KEY (owner_id) REFERENCES people,
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

-- The received pieces of uploads in progress, each in one blob.
CREATE TABLE upload_pieces (
    owner_id bigint NOT NULL,
    upload_id text COLLATE "C" NOT NULL,
    -- The offset of the first byte.
    start bigint NOT NULL,
    key text COLLATE "C" NOT NULL,
    CONSTRAINT upload_pieces_pkey PRIMARY KEY (owner_id, upload_id, start),
    CONSTRAINT upload_pieces_upload FOREIGN KEY (owner_id, upload_id) REFERENCES uploads ON DELETE CASCADE
);

-- The triggers delete the file with its last upload and make its blobs due, in the transaction that deletes the upload,
-- so that a crash cannot separate them.
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

-- The name under which the instances of this database find each other on a shared event bus. One row.
CREATE TABLE bus (
    name text NOT NULL,
    CONSTRAINT bus_name_form CHECK (name ~ '^[a-z0-9_]{1,48}$')
);

INSERT INTO bus (name) VALUES ('roost_' || replace(gen_random_uuid()::text, '-', ''));

-- Changes of posts without a change number, written in the transaction of the change. The number is assigned after the
-- commit: a number from the transaction could be committed after a higher one, and readers would skip it.
CREATE TABLE pending_changes (
    change_id bigint GENERATED ALWAYS AS IDENTITY,
    application_id text COLLATE "C" NOT NULL,
    kind text NOT NULL,
    -- The post; number is 0 if the change is about a user.
    author_id bigint NOT NULL,
    number bigint NOT NULL,
    -- The comment that the change is about; NULL for a change of the post.
    comment_id bigint,
    CONSTRAINT pending_changes_pkey PRIMARY KEY (change_id)
);

-- Numbered changes: 1, 2, 3 … in each application, without gaps, in the order of their commits. Rows are deleted
-- after some minutes.
CREATE TABLE changes (
    application_id text COLLATE "C" NOT NULL,
    change_number bigint NOT NULL,
    kind text NOT NULL,
    author_id bigint NOT NULL,
    number bigint NOT NULL,
    numbered_at timestamptz NOT NULL,
    -- As in pending_changes.
    comment_id bigint,
    CONSTRAINT changes_pkey PRIMARY KEY (application_id, change_number)
);

CREATE INDEX changes_by_time ON changes (numbered_at);

-- The last change number of each application and its time, which are kept longer than the change.
CREATE TABLE change_counters (
    application_id text COLLATE "C" NOT NULL,
    last_change_number bigint NOT NULL,
    last_at timestamptz NOT NULL,
    CONSTRAINT change_counters_pkey PRIMARY KEY (application_id)
) WITH (fillfactor = 50);

-- Activity to notify a user of by push, in groups: the likes of a post, the comments on a post (number is the post's),
-- or new followers (number 0). A worker that claims a group delivers one round of it. A claimed round is closed to new
-- activity, so that a retry after a crash sends the same content.
CREATE TABLE activity_groups (
    recipient_id bigint NOT NULL,
    kind text NOT NULL,
    number bigint NOT NULL,
    -- The round that new activity is added to, and the round that is being delivered.
    open_round bigint NOT NULL DEFAULT 1,
    delivering_round bigint,
    -- The time of the oldest undelivered activity; NULL if there is none.
    waiting_since timestamptz,
    due_at timestamptz NOT NULL,
    claimed_by text COLLATE "C",
    claimed_until timestamptz,
    CONSTRAINT activity_groups_pkey PRIMARY KEY (recipient_id, kind, number),
    CONSTRAINT activity_groups_recipient_id_fkey FOREIGN KEY (recipient_id) REFERENCES people,
    CONSTRAINT activity_groups_kind CHECK (kind IN ('like', 'comment', 'follow'))
) WITH (fillfactor = 70);

CREATE INDEX activity_groups_due ON activity_groups (due_at) WHERE waiting_since IS NOT NULL;

-- The users who caused an activity. A row is kept for 7 days, and without limit for follows, so that a repeated
-- activity causes no second notification.
CREATE TABLE activities (
    recipient_id bigint NOT NULL,
    kind text NOT NULL,
    number bigint NOT NULL,
    actor_id bigint NOT NULL,
    -- 0 for a like or a follow.
    comment_id bigint NOT NULL,
    round bigint NOT NULL,
    written_at timestamptz NOT NULL,
    CONSTRAINT activities_pkey PRIMARY KEY (recipient_id, kind, number, actor_id, comment_id),
    CONSTRAINT activities_recipient_id_kind_number_fkey FOREIGN KEY (recipient_id, kind, number)
        REFERENCES activity_groups ON DELETE CASCADE,
    CONSTRAINT activities_actor_id_fkey FOREIGN KEY (actor_id) REFERENCES people
);

CREATE INDEX activities_of_actor ON activities (actor_id);
CREATE INDEX activities_by_time ON activities (written_at) WHERE kind <> 'follow';
