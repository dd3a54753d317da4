-- What is to be said. A row stays for as long as the log speaks of it; what is told to whom is in no foreign key to it,
-- since a hundred thousand rows of one broadcast would each lock it.
CREATE TABLE notifications (
    notification_key bigint GENERATED ALWAYS AS IDENTITY,
    -- Empty for a broadcast, which is told to people of every application.
    application_id text COLLATE "C" NOT NULL,
    -- Its sender's own: what comes twice is one.
    id text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    title text,
    body text,
    -- A JSON object, compact.
    data text,
    sound text,
    image_url text,
    -- Sets the number on the app's icon, or adds one to it; neither where both say nothing.
    badge bigint,
    badge_increment boolean NOT NULL DEFAULT false,
    collapse_key text COLLATE "C",
    -- What quiet hours keep but the newest of. Of a broadcast the folded name of who is live.
    about text COLLATE "C",
    -- Of a broadcast, folded.
    community text COLLATE "C",
    -- 0 at once, 1 soon, 2 when it suits.
    priority smallint NOT NULL,
    created_at timestamptz NOT NULL,
    -- Not told before this.
    due_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    cancelled_at timestamptz,
    -- How many people it was decided for; whom the rules left out, and who waits for the end of his quiet hours.
    people bigint NOT NULL DEFAULT 0,
    withheld bigint NOT NULL DEFAULT 0,
    held bigint NOT NULL DEFAULT 0,
    -- How many devices it was for; those that a push service took it for, and those that it did not reach.
    devices bigint NOT NULL DEFAULT 0,
    sent bigint NOT NULL DEFAULT 0,
    failed bigint NOT NULL DEFAULT 0,
    CONSTRAINT notifications_pkey PRIMARY KEY (notification_key),
    CONSTRAINT notifications_id_key UNIQUE (application_id, id),
    CONSTRAINT notifications_kind_known
        CHECK (kind IN ('message', 'like', 'comment', 'follow', 'broadcast', 'social', 'server')),
    CONSTRAINT notifications_priority_known CHECK (priority BETWEEN 0 AND 2)
)
-- The counts change often, and no index with them.
WITH (fillfactor = 70);

CREATE INDEX notifications_expires_at_idx ON notifications (expires_at);

-- Notifications of which it is not decided yet for whom they are, or not for all. A row goes with its last batch of people.
CREATE TABLE fanouts (
    notification_key bigint NOT NULL,
    -- What one person is told about one thing is decided in its order: by one at a time in each partition.
    partition smallint NOT NULL,
    audience text NOT NULL,
    -- The people or devices as a JSON array; the topic; the broadcaster.
    audience_value text NOT NULL,
    -- Behind whom it goes on, where there are many.
    after_application_id text COLLATE "C",
    after_user_id text COLLATE "C",
    next_run_at timestamptz NOT NULL,
    CONSTRAINT fanouts_pkey PRIMARY KEY (notification_key),
    CONSTRAINT fanouts_notification_fkey FOREIGN KEY (notification_key) REFERENCES notifications ON DELETE CASCADE,
    CONSTRAINT fanouts_audience_known CHECK (audience IN ('people', 'devices', 'topic', 'favourites'))
);

CREATE INDEX fanouts_next_run_idx ON fanouts (partition, next_run_at, notification_key);

-- Who has a partition's row locked is the one who decides in it.
CREATE TABLE fanout_partitions (partition smallint NOT NULL CONSTRAINT fanout_partitions_pkey PRIMARY KEY);

INSERT INTO fanout_partitions (partition) SELECT partition FROM generate_series(0, 7) AS partitions (partition);

-- What waits for the end of somebody's quiet hours: of each thing the newest. Decided anew then.
CREATE TABLE held (
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    -- The kind and what it is about; of what is about nothing the notification itself.
    about text COLLATE "C" NOT NULL,
    notification_key bigint NOT NULL,
    -- What its sender said of this person alone, as JSON.
    recipient text,
    -- As it is in the log.
    held_until timestamptz NOT NULL,
    -- Earlier than that when he has changed his settings.
    due_at timestamptz NOT NULL,
    CONSTRAINT held_pkey PRIMARY KEY (application_id, user_id, about)
);

CREATE INDEX held_due_at_idx ON held (due_at);

-- Numbers the entries of the log, those that are still in the queue among them.
CREATE SEQUENCE entries;

-- What is to be sent: a row for each device, until its push service has taken it or will never.
CREATE TABLE queue (
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    entry_id bigint NOT NULL DEFAULT nextval('entries'),
    device_key bigint NOT NULL,
    notification_key bigint NOT NULL,
    -- By which a push service knows a repetition.
    message_id uuid NOT NULL DEFAULT gen_random_uuid(),
    -- Where it goes: apns-production, apns-sandbox, fcm, or the origin of a browser's push service.
    service text COLLATE "C" NOT NULL,
    priority smallint NOT NULL,
    collapse_key text COLLATE "C",
    sound text,
    badge bigint,
    -- Whose broadcasts it is not to be sent too soon after.
    cooldown_broadcaster text COLLATE "C",
    created_at timestamptz NOT NULL,
    due_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    -- Somebody sends it, or did not live to say what came of it once this is over.
    leased_until timestamptz,
    attempts int NOT NULL DEFAULT 0,
    -- Apple's token is tried in the environment that it was not registered for.
    other_environment boolean NOT NULL DEFAULT false,
    reason text,
    CONSTRAINT queue_pkey PRIMARY KEY (application_id, user_id, entry_id)
)
-- A lease changes no index, if there is room for it beside the row.
WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

CREATE INDEX queue_due_idx ON queue (application_id, service, priority, due_at, entry_id);
CREATE INDEX queue_device_idx ON queue (device_key, priority, entry_id);
CREATE INDEX queue_expires_at_idx ON queue (expires_at);

-- What became of everything that is not in the queue any more, or never was.
CREATE TABLE log (
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    entry_id bigint NOT NULL DEFAULT nextval('entries'),
    notification_key bigint NOT NULL,
    outcome text NOT NULL,
    reason text,
    logged_at timestamptz NOT NULL,
    held_until timestamptz,
    device_id text COLLATE "C",
    platform text,
    attempts int,
    -- What the push service calls it.
    receipt text,
    CONSTRAINT log_pkey PRIMARY KEY (application_id, user_id, entry_id),
    CONSTRAINT log_outcome_known
        CHECK (outcome IN ('sent', 'withheld', 'held', 'replaced', 'expired', 'failed', 'cancelled'))
);

CREATE INDEX log_logged_at_idx ON log (logged_at);

-- When a push service last took something about a broadcaster for any device of somebody.
CREATE TABLE cooldowns (
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    broadcaster text COLLATE "C" NOT NULL,
    notification_key bigint NOT NULL,
    accepted_at timestamptz NOT NULL,
    CONSTRAINT cooldowns_pkey PRIMARY KEY (application_id, user_id, broadcaster)
);

CREATE INDEX cooldowns_accepted_at_idx ON cooldowns (accepted_at);

-- Push services that fail, for one application: all instances ask before they send. No row: all is well.
CREATE TABLE circuits (
    application_id text COLLATE "C" NOT NULL,
    service text COLLATE "C" NOT NULL,
    is_open boolean NOT NULL,
    reason text,
    -- In a row, of any instance.
    failures int NOT NULL,
    -- How often it was opened since it last was well.
    openings int NOT NULL,
    opened_at timestamptz,
    retry_at timestamptz,
    -- Until then somebody tries with one.
    probe_until timestamptz,
    -- Since when it is well again: little is sent at first.
    resumed_at timestamptz,
    CONSTRAINT circuits_pkey PRIMARY KEY (application_id, service)
);

-- What a push service will not take as it is, for the operator to look at.
CREATE TABLE failures (
    failure_id bigint NOT NULL,
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    device_key bigint NOT NULL,
    notification_key bigint NOT NULL,
    message_id uuid NOT NULL,
    service text COLLATE "C" NOT NULL,
    sound text,
    badge bigint,
    reason text,
    attempts int NOT NULL,
    failed_at timestamptz NOT NULL,
    CONSTRAINT failures_pkey PRIMARY KEY (failure_id)
);

CREATE INDEX failures_failed_at_idx ON failures (failed_at);
CREATE INDEX failures_user_idx ON failures (application_id, user_id);

-- For those that a server names by the clients' own ids.
CREATE INDEX devices_device_id_idx ON devices (application_id, device_id);
