-- What people post. A post is (author, number): whatever belongs to it has the same first two columns, so that it lies
-- beside it however the tables are spread.
--
-- `like_count` and `comment_count` are kept by whoever changes what they count, in the same transaction and under this
-- row's lock; that lock also keeps likes and comments from being added to a post that is just going away, so the tables
-- of what can be many have no foreign key to this one, and are cleared piece by piece after their post is gone.
CREATE TABLE posts (
    author_id bigint NOT NULL REFERENCES people,
    number bigint NOT NULL,
    application_id text COLLATE "C" NOT NULL,
    text text NOT NULL,
    created_at timestamptz NOT NULL,
    edited_at timestamptz,
    hidden_at timestamptz,
    like_count bigint NOT NULL DEFAULT 0,
    comment_count bigint NOT NULL DEFAULT 0,
    last_comment_id bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (author_id, number),
    CONSTRAINT posts_counts CHECK (like_count >= 0 AND comment_count >= 0)
) WITH (fillfactor = 80);

CREATE INDEX posts_of_application ON posts (application_id, created_at DESC, author_id DESC, number DESC)
WHERE hidden_at IS NULL;

-- Its images, in their order, with what a reader needs of them: an upload serves one post and never changes.
CREATE TABLE post_images (
    author_id bigint NOT NULL,
    number bigint NOT NULL,
    ordinal smallint NOT NULL,
    url text NOT NULL,
    thumbnail_url text NOT NULL,
    width integer NOT NULL,
    height integer NOT NULL,
    blurhash text NOT NULL,
    alt text,
    PRIMARY KEY (author_id, number, ordinal),
    FOREIGN KEY (author_id, number) REFERENCES posts ON DELETE CASCADE
);

-- Its hashtags, in their order, folded. `created_at` is the post's, so that a tag's posts are read in the feed's order.
CREATE TABLE post_hashtags (
    author_id bigint NOT NULL,
    number bigint NOT NULL,
    ordinal smallint NOT NULL,
    application_id text COLLATE "C" NOT NULL,
    tag text COLLATE "C" NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (author_id, number, ordinal),
    CONSTRAINT post_hashtags_once UNIQUE (application_id, tag, created_at, author_id, number),
    FOREIGN KEY (author_id, number) REFERENCES posts ON DELETE CASCADE
);

-- How many posts have a tag; none has no row.
CREATE TABLE hashtags (
    application_id text COLLATE "C" NOT NULL,
    tag text COLLATE "C" NOT NULL,
    post_count bigint NOT NULL,
    PRIMARY KEY (application_id, tag),
    CONSTRAINT hashtags_counts CHECK (post_count >= 0)
) WITH (fillfactor = 80);

-- `comment_id` is the post's own count, taken under its lock: the order in which they were written.
CREATE TABLE comments (
    author_id bigint NOT NULL,
    number bigint NOT NULL,
    comment_id bigint NOT NULL,
    writer_id bigint NOT NULL REFERENCES people,
    text text NOT NULL,
    created_at timestamptz NOT NULL,
    edited_at timestamptz,
    PRIMARY KEY (author_id, number, comment_id)
);

CREATE INDEX comments_of_writer ON comments (writer_id, author_id, number, comment_id);

CREATE TABLE likes (
    author_id bigint NOT NULL,
    number bigint NOT NULL,
    liker_id bigint NOT NULL REFERENCES people,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (author_id, number, liker_id)
);

CREATE INDEX likes_in_order ON likes (author_id, number, created_at, liker_id);
CREATE INDEX likes_of_liker ON likes (liker_id, author_id, number);

-- What somebody has found to be wrong: a post (comment_id 0) or a comment. `first_at` never changes, so a list in its
-- order holds still while others flag.
CREATE TABLE flagged_items (
    author_id bigint NOT NULL,
    number bigint NOT NULL,
    comment_id bigint NOT NULL,
    application_id text COLLATE "C" NOT NULL,
    flag_count bigint NOT NULL DEFAULT 0,
    first_at timestamptz NOT NULL,
    last_at timestamptz NOT NULL,
    PRIMARY KEY (author_id, number, comment_id),
    CONSTRAINT flagged_items_counts CHECK (flag_count >= 0)
);

CREATE INDEX flagged_items_of_application ON flagged_items (application_id, first_at, author_id, number, comment_id);

-- Who has; once each.
CREATE TABLE flags (
    author_id bigint NOT NULL,
    number bigint NOT NULL,
    comment_id bigint NOT NULL,
    flagger_id bigint NOT NULL REFERENCES people,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (author_id, number, comment_id, flagger_id)
);

CREATE INDEX flags_of_flagger ON flags (flagger_id, author_id, number, comment_id);

-- Posts that are gone, while comments, likes and flags of theirs are still to be cleared away.
CREATE TABLE deleted_posts (
    author_id bigint NOT NULL,
    number bigint NOT NULL,
    PRIMARY KEY (author_id, number)
);
