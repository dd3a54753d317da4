-- Live videos, as the newest poll found them, and those that were live within the last days: by its row a stream is known
-- to have been told, also to an instance that has just started.
CREATE TABLE broadcasts (
    broadcast_id text COLLATE "C" NOT NULL,
    is_live boolean NOT NULL,
    watchers integer NOT NULL,
    -- The broadcast as clients get it.
    content jsonb NOT NULL,
    first_seen_at timestamptz NOT NULL,
    seen_at timestamptz NOT NULL,
    -- When its followers were told, or it was found too old for that.
    notified_at timestamptz,
    CONSTRAINT broadcasts_pkey PRIMARY KEY (broadcast_id)
);

CREATE INDEX broadcasts_live ON broadcasts (watchers DESC, broadcast_id) WHERE is_live;
CREATE INDEX broadcasts_seen ON broadcasts (seen_at);

-- One row: who asks next, and when. Instances race for it, and one wins each round.
CREATE TABLE broadcast_poll (
    is_only boolean NOT NULL DEFAULT true,
    -- Counts the rounds; what comes back of an older one is not taken.
    round bigint NOT NULL DEFAULT 0,
    due_at timestamptz NOT NULL DEFAULT '-infinity',
    -- The last that answered.
    answered_at timestamptz,
    failures integer NOT NULL DEFAULT 0,
    CONSTRAINT broadcast_poll_pkey PRIMARY KEY (is_only),
    CONSTRAINT broadcast_poll_only CHECK (is_only)
);

INSERT INTO broadcast_poll DEFAULT VALUES;

-- Where broadcasts were seen to come from.
CREATE TABLE broadcast_communities (
    normalized_name text COLLATE "C" NOT NULL,
    name text NOT NULL,
    icon text,
    CONSTRAINT broadcast_communities_pkey PRIMARY KEY (normalized_name)
);

-- When it is looked again whom somebody follows on Reddit.
CREATE TABLE follow_imports (
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    due_at timestamptz NOT NULL,
    CONSTRAINT follow_imports_pkey PRIMARY KEY (application_id, user_id)
);
