-- What changed for somebody on his networks, in the order in which we heard of it; kept for as long as a stream can be gone
-- on from. A change takes its number under the lock of its owner's row in `change_logs`, so the places of one person have no gap
-- and none comes late.
CREATE TABLE change_logs (
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    last_number bigint NOT NULL DEFAULT 0,
    CONSTRAINT change_logs_pkey PRIMARY KEY (application_id, user_id)
);

CREATE TABLE changes (
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    number bigint NOT NULL,
    kind text COLLATE "C" NOT NULL,
    list text COLLATE "C" NOT NULL,
    item_id text COLLATE "C" NOT NULL,
    -- Null of what is gone.
    item jsonb,
    happened_at timestamptz NOT NULL,
    -- Whether push has to be told yet, and who does so until when.
    needs_push boolean NOT NULL,
    claimed_until timestamptz,
    CONSTRAINT changes_pkey PRIMARY KEY (application_id, user_id, number),
    CONSTRAINT changes_kind CHECK (kind IN ('created', 'updated', 'deleted'))
);

CREATE INDEX changes_needing_push ON changes (happened_at) WHERE needs_push;
CREATE INDEX changes_old ON changes (happened_at);

-- Lists that are looked at, each as it was when it was looked at last: the newest items, by id, with their time and a hash of
-- what people see of them.
CREATE TABLE polled_lists (
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    network text COLLATE "C" NOT NULL,
    list text COLLATE "C" NOT NULL,
    seen jsonb NOT NULL DEFAULT '{}',
    -- Whether it was looked at before: the first look tells nothing.
    has_baseline boolean NOT NULL DEFAULT false,
    due_at timestamptz NOT NULL,
    -- No look before, however much of a hurry there is: what the network's limits ask for.
    not_before timestamptz,
    -- When the last look began.
    polled_at timestamptz,
    -- Seconds to the next look: shorter while things happen.
    pause double precision NOT NULL,
    CONSTRAINT polled_lists_pkey PRIMARY KEY (application_id, user_id, network, list),
    CONSTRAINT polled_lists_account FOREIGN KEY (application_id, user_id, network) REFERENCES accounts ON DELETE CASCADE
);

CREATE INDEX polled_lists_due ON polled_lists (network, due_at);

-- How many looks each network's application key has left: filled by the hour, shared by all instances.
CREATE TABLE poll_budgets (
    network text COLLATE "C" NOT NULL,
    polls double precision NOT NULL,
    filled_at timestamptz NOT NULL,
    CONSTRAINT poll_budgets_pkey PRIMARY KEY (network)
);

-- Deliveries of webhooks that were taken, by a hash, so that one that comes again does nothing.
CREATE TABLE webhook_deliveries (
    network text COLLATE "C" NOT NULL,
    hash bytea NOT NULL,
    taken_at timestamptz NOT NULL,
    CONSTRAINT webhook_deliveries_pkey PRIMARY KEY (network, hash)
);

CREATE INDEX webhook_deliveries_old ON webhook_deliveries (taken_at);
