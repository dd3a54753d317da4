-- What people post to several networks at once, now or later; kept for two days after its time, so that it can be found out
-- what became of it.
CREATE TABLE posts (
    post_id uuid NOT NULL,
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    -- Text, location and chosen networks, as they were sent.
    draft jsonb NOT NULL,
    created_at timestamptz NOT NULL,
    due_at timestamptz NOT NULL,
    is_scheduled boolean NOT NULL,
    is_done boolean NOT NULL DEFAULT false,
    -- One of the instances posts it until then.
    claimed_until timestamptz,
    CONSTRAINT posts_pkey PRIMARY KEY (post_id)
);

CREATE INDEX posts_due ON posts (due_at) WHERE is_scheduled AND NOT is_done;
CREATE INDEX posts_of_user ON posts (application_id, user_id, due_at) WHERE is_scheduled;
CREATE INDEX posts_old ON posts (due_at);

-- Files of posts for later.
CREATE TABLE post_media (
    post_id uuid NOT NULL REFERENCES posts ON DELETE CASCADE,
    element text COLLATE "C" NOT NULL,
    media_type text NOT NULL,
    alt text,
    bytes bytea NOT NULL,
    CONSTRAINT post_media_pkey PRIMARY KEY (post_id, element),
    CONSTRAINT post_media_element CHECK (element IN ('photo', 'video'))
);

-- A post's part on one network. It is `sent` before the one request that people would see the result of, so that after a
-- crash nobody sends it again without having looked whether it is there.
CREATE TABLE publications (
    post_id uuid NOT NULL REFERENCES posts ON DELETE CASCADE,
    network text COLLATE "C" NOT NULL,
    state text COLLATE "C" NOT NULL DEFAULT 'waiting',
    -- What the network's connector wants to remember of media it has sent.
    prepared jsonb,
    result jsonb,
    lookups integer NOT NULL DEFAULT 0,
    changed_at timestamptz NOT NULL,
    CONSTRAINT publications_pkey PRIMARY KEY (post_id, network),
    CONSTRAINT publications_state CHECK (state IN ('waiting', 'sent', 'unknown', 'done'))
);

CREATE INDEX publications_unknown ON publications (changed_at) WHERE state IN ('sent', 'unknown');
