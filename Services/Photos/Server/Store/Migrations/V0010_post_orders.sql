-- Posts that another service had made for somebody, by the key that it knows each by: one that is asked for again is the one
-- that was made, also where it is gone by now. Kept for longer than anybody asks again.
CREATE TABLE delegated_posts (
    author_id bigint NOT NULL REFERENCES people ON DELETE CASCADE,
    key uuid NOT NULL,
    -- Null only within the transaction that makes the post.
    number bigint,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (author_id, key)
);

CREATE INDEX delegated_posts_by_time ON delegated_posts (created_at);
