-- Posts that another service had made for somebody, by the key that it knows each by: one that is asked for again is the one
-- that was made, also where it is gone by now. Kept for longer than anybody asks again.
CREATE TABLE post_orders (
    author_id bigint NOT NULL REFERENCES people ON DELETE CASCADE,
    key uuid NOT NULL,
    -- Null only within the transaction that makes the post.
    number bigint,
    made_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (author_id, key)
);

CREATE INDEX post_orders_old ON post_orders (made_at);
