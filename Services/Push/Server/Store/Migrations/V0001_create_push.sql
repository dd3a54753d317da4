-- Registrations of apps and browsers that receive notifications. A row is one registration. A token that moves to
-- another user gets a row with a new key, so that the new user never receives notifications of the previous user.
CREATE TABLE devices (
    device_key bigint GENERATED ALWAYS AS IDENTITY,
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    -- The client's id of the device; the session's id if the client has none.
    device_id text COLLATE "C" NOT NULL,
    -- The end of this session deletes the registration.
    session_id text COLLATE "C",
    platform text NOT NULL,
    -- The issuer of the token. An Apple token belongs to one device in either of the two environments.
    provider text NOT NULL GENERATED ALWAYS AS (
        CASE platform WHEN 'gcm' THEN 'fcm' WHEN 'web' THEN 'web' ELSE 'apns' END
    ) STORED,
    -- For browsers, the URL of the push subscription.
    token text NOT NULL,
    -- SHA-256 of the token, because a token can be too long for an index.
    token_hash bytea NOT NULL,
    -- For browsers only, in base64url: the keys that notifications are encrypted with (RFC 8291).
    p256dh text,
    auth text,
    -- The number on the app's icon, which badge increments are added to.
    badge bigint NOT NULL DEFAULT 0,
    registered_at timestamptz NOT NULL,
    seen_at timestamptz NOT NULL,
    -- Why nothing is sent to the device until it is registered again.
    disabled_reason text,
    -- Overrides the user's language.
    language text COLLATE "C",
    -- Whether the app translates texts itself (APNs loc-key).
    loc_keys boolean NOT NULL DEFAULT false,
    CONSTRAINT devices_pkey PRIMARY KEY (device_key),
    CONSTRAINT devices_device_id_key UNIQUE (application_id, user_id, device_id),
    CONSTRAINT devices_token_key UNIQUE (application_id, provider, token_hash),
    CONSTRAINT devices_device_id_length CHECK (char_length(device_id) BETWEEN 1 AND 255),
    CONSTRAINT devices_platform_known CHECK (platform IN ('ios_sandbox', 'ios_production', 'gcm', 'web')),
    CONSTRAINT devices_token_size CHECK (octet_length(token) BETWEEN 1 AND 4096),
    CONSTRAINT devices_token_hash_size CHECK (octet_length(token_hash) = 32),
    CONSTRAINT devices_web_keys CHECK (
        (platform = 'web') = (p256dh IS NOT NULL) AND (platform = 'web') = (auth IS NOT NULL)
    ),
    CONSTRAINT devices_badge_range CHECK (badge BETWEEN 0 AND 1000000),
    CONSTRAINT devices_language_length CHECK (char_length(language) BETWEEN 2 AND 35)
)
-- Leaves space on the page for a new badge, so that a notification updates no index.
WITH (fillfactor = 80);

CREATE INDEX devices_session_id_idx ON devices (session_id) WHERE session_id IS NOT NULL;
CREATE INDEX devices_seen_at_idx ON devices (seen_at);
-- For notifications that a server sends to the clients' own device ids.
CREATE INDEX devices_device_id_idx ON devices (application_id, device_id);

-- Users that the last published devices.changed event reported as owners of a device.
CREATE TABLE device_owners (
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    CONSTRAINT device_owners_pkey PRIMARY KEY (application_id, user_id)
);

-- Ended sessions. A late event about such a session, or a registration in it at the moment of its end, registers no
-- device.
CREATE TABLE ended_sessions (
    session_id text COLLATE "C" NOT NULL,
    ended_at timestamptz NOT NULL,
    CONSTRAINT ended_sessions_pkey PRIMARY KEY (session_id)
);

CREATE INDEX ended_sessions_ended_at_idx ON ended_sessions (ended_at);

-- Notification settings of users. A user without a row receives all notifications at any time.
CREATE TABLE settings (
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    enabled boolean NOT NULL,
    -- Quiet hours in minutes of the day in time_zone; they include midnight if the end is before the start.
    quiet_start smallint,
    quiet_end smallint,
    time_zone text COLLATE "C",
    -- Case-folded names.
    disabled_communities text[] COLLATE "C" NOT NULL DEFAULT '{}',
    disabled_kinds text[] COLLATE "C" NOT NULL DEFAULT '{}',
    CONSTRAINT settings_pkey PRIMARY KEY (application_id, user_id),
    CONSTRAINT settings_quiet_hours CHECK (
        num_nonnulls(quiet_start, quiet_end, time_zone) IN (0, 3) AND quiet_start <> quiet_end
        AND quiet_start BETWEEN 0 AND 1439 AND quiet_end BETWEEN 0 AND 1439
    )
);

-- The languages of users, as auth publishes them. A user without a row has not chosen a language.
CREATE TABLE user_languages (
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    -- A BCP 47 tag in canonical case.
    language text COLLATE "C" NOT NULL,
    CONSTRAINT user_languages_pkey PRIMARY KEY (application_id, user_id),
    CONSTRAINT user_languages_language_length CHECK (char_length(language) BETWEEN 2 AND 35)
);

-- Broadcasters whose live streams a user wants to be notified of. A removed subscription keeps its row, so that an
-- import does not create it again.
CREATE TABLE subscriptions (
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    -- The case-folded name.
    broadcaster text COLLATE "C" NOT NULL,
    -- The name in its original spelling.
    name text NOT NULL,
    notify boolean NOT NULL DEFAULT true,
    -- Whether notifications about the broadcaster have a minimum distance of four hours.
    cooldown boolean NOT NULL DEFAULT false,
    sound text NOT NULL DEFAULT 'chord',
    -- Case-folded names.
    disabled_communities text[] COLLATE "C" NOT NULL DEFAULT '{}',
    icon_url text,
    removed_at timestamptz,
    CONSTRAINT subscriptions_pkey PRIMARY KEY (application_id, user_id, broadcaster)
);

-- The audience of a broadcast, in the order of its fan-out. Includes users who have disabled the notification, because
-- the log records the reason.
CREATE INDEX subscriptions_broadcaster_idx ON subscriptions (broadcaster, application_id, user_id)
    WHERE removed_at IS NULL;

-- Users who receive the notifications that an application's server sends to a topic.
CREATE TABLE topic_subscriptions (
    application_id text COLLATE "C" NOT NULL,
    topic text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    CONSTRAINT topic_subscriptions_pkey PRIMARY KEY (application_id, topic, user_id)
);

CREATE INDEX topic_subscriptions_user_idx ON topic_subscriptions (application_id, user_id);

-- Notifications. A row is kept as long as the log refers to it. Rows for its recipients have no foreign key to it,
-- because the 100,000 rows of one broadcast would each lock it.
CREATE TABLE notifications (
    notification_key bigint GENERATED ALWAYS AS IDENTITY,
    -- Empty for a broadcast, which users of all applications receive.
    application_id text COLLATE "C" NOT NULL,
    -- The sender's id; a repeated id is the same notification.
    id text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    title text,
    body text,
    -- A JSON object, compact.
    data text,
    sound text,
    image_url text,
    -- The number to set on the app's icon. With badge_increment, the number increases by one instead.
    badge bigint,
    badge_increment boolean NOT NULL DEFAULT false,
    collapse_key text COLLATE "C",
    -- The subject: at the end of quiet hours, only the newest notification about a subject is sent. For a broadcast,
    -- the broadcaster's case-folded name.
    about text COLLATE "C",
    -- For a broadcast, the case-folded name of its community.
    community text COLLATE "C",
    -- 0 high, 1 normal, 2 low.
    priority smallint NOT NULL,
    created_at timestamptz NOT NULL,
    -- The earliest time of delivery.
    due_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    cancelled_at timestamptz,
    -- Numbers of users: all whose delivery was decided, those excluded by the rules, and those in quiet hours.
    people bigint NOT NULL DEFAULT 0,
    withheld bigint NOT NULL DEFAULT 0,
    held bigint NOT NULL DEFAULT 0,
    -- Numbers of devices: all, those for which a provider accepted the notification, and those with a failure.
    devices bigint NOT NULL DEFAULT 0,
    sent bigint NOT NULL DEFAULT 0,
    failed bigint NOT NULL DEFAULT 0,
    -- Ids of the users that the texts name, beside the recipients, as a JSON array. The deletion of such a user deletes
    -- the texts. Not indexed, because an index would slow down every notification for a rare search.
    mentions text,
    -- Replaces the title on Android devices (seed diuit: "push title (Android only)").
    android_title text,
    -- Keys and arguments of texts from the message catalogues, as JSON; title and body contain these texts in English.
    title_message text,
    body_message text,
    CONSTRAINT notifications_pkey PRIMARY KEY (notification_key),
    CONSTRAINT notifications_id_key UNIQUE (application_id, id),
    CONSTRAINT notifications_kind_known
        CHECK (kind IN ('message', 'like', 'comment', 'follow', 'broadcast', 'social', 'server')),
    CONSTRAINT notifications_priority_known CHECK (priority BETWEEN 0 AND 2)
)
-- The counts change often, without a change of any index.
WITH (fillfactor = 70);

CREATE INDEX notifications_expires_at_idx ON notifications (expires_at);

-- Notifications whose recipients are not all decided yet. The last batch of recipients deletes the row.
CREATE TABLE fanouts (
    notification_key bigint NOT NULL,
    -- All notifications about one subject are in one partition. One worker at a time decides the notifications of a
    -- partition, in their order.
    partition smallint NOT NULL,
    audience text NOT NULL,
    -- The users or devices as a JSON array; the topic; or the broadcaster.
    audience_value text NOT NULL,
    -- The last user of the previous batch, for audiences with several batches.
    after_application_id text COLLATE "C",
    after_user_id text COLLATE "C",
    next_run_at timestamptz NOT NULL,
    CONSTRAINT fanouts_pkey PRIMARY KEY (notification_key),
    CONSTRAINT fanouts_notification_fkey FOREIGN KEY (notification_key) REFERENCES notifications ON DELETE CASCADE,
    CONSTRAINT fanouts_audience_known CHECK (audience IN ('people', 'devices', 'topic', 'favourites'))
);

CREATE INDEX fanouts_next_run_idx ON fanouts (partition, next_run_at, notification_key);

-- The partitions of fanouts. The worker that has locked a partition's row decides the partition's notifications.
CREATE TABLE fanout_partitions (
    partition smallint NOT NULL,
    CONSTRAINT fanout_partitions_pkey PRIMARY KEY (partition)
);

INSERT INTO fanout_partitions (partition) SELECT partition FROM generate_series(0, 7) AS partitions (partition);

-- Notifications that wait for the end of a user's quiet hours: the newest about each subject. They are decided again
-- then.
CREATE TABLE held (
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    -- The kind and the subject; the notification itself if it has no subject.
    about text COLLATE "C" NOT NULL,
    notification_key bigint NOT NULL,
    -- The sender's values for this recipient only, as JSON.
    recipient text,
    -- The end of the quiet hours, as in the log.
    held_until timestamptz NOT NULL,
    -- Earlier than held_until after a change of the user's settings.
    due_at timestamptz NOT NULL,
    CONSTRAINT held_pkey PRIMARY KEY (application_id, user_id, about)
);

CREATE INDEX held_due_at_idx ON held (due_at);

-- Numbers the entries of queue and log; an entry keeps its number when it moves from queue to log.
CREATE SEQUENCE entries;

-- Notifications to send: one row for each device, until the provider accepts the notification or sending ends.
CREATE TABLE queue (
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    entry_id bigint NOT NULL DEFAULT nextval('entries'),
    device_key bigint NOT NULL,
    notification_key bigint NOT NULL,
    -- Sent to the provider, which recognises a repetition by it.
    message_id uuid NOT NULL DEFAULT gen_random_uuid(),
    -- The provider: apns-production, apns-sandbox, fcm, or the origin of a browser's push service.
    service text COLLATE "C" NOT NULL,
    priority smallint NOT NULL,
    collapse_key text COLLATE "C",
    sound text,
    badge bigint,
    -- The broadcaster whose cooldown applies; NULL if none does.
    cooldown_broadcaster text COLLATE "C",
    created_at timestamptz NOT NULL,
    due_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    -- The end of the sender's claim. If the row still exists then, the sender crashed and the result is unknown.
    leased_until timestamptz,
    attempts int NOT NULL DEFAULT 0,
    -- Whether an Apple token is tried in the environment that it was not registered for.
    other_environment boolean NOT NULL DEFAULT false,
    reason text,
    CONSTRAINT queue_pkey PRIMARY KEY (application_id, user_id, entry_id)
)
-- Leaves space on the page for the update of a claim, which then updates no index.
WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

CREATE INDEX queue_due_idx ON queue (application_id, service, priority, due_at, entry_id);
CREATE INDEX queue_device_idx ON queue (device_key, priority, entry_id);
CREATE INDEX queue_expires_at_idx ON queue (expires_at);

-- Outcomes of notifications, for each user or device; entries in the queue are not in the log.
CREATE TABLE log (
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    entry_id bigint NOT NULL DEFAULT nextval('entries'),
    notification_key bigint NOT NULL,
    outcome text NOT NULL,
    reason text,
    logged_at timestamptz NOT NULL,
    held_until timestamptz,
    -- NULL if the outcome is about the user, not one device.
    device_id text COLLATE "C",
    platform text,
    attempts int,
    -- The provider's id of the message.
    receipt text,
    CONSTRAINT log_pkey PRIMARY KEY (application_id, user_id, entry_id),
    CONSTRAINT log_outcome_known
        CHECK (outcome IN ('sent', 'withheld', 'held', 'replaced', 'expired', 'failed', 'cancelled'))
);

CREATE INDEX log_logged_at_idx ON log (logged_at);

-- When a provider last accepted a notification about a broadcaster for any device of a user.
CREATE TABLE cooldowns (
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    broadcaster text COLLATE "C" NOT NULL,
    notification_key bigint NOT NULL,
    accepted_at timestamptz NOT NULL,
    CONSTRAINT cooldowns_pkey PRIMARY KEY (application_id, user_id, broadcaster)
);

CREATE INDEX cooldowns_accepted_at_idx ON cooldowns (accepted_at);

-- Circuit breakers of providers with failures, for each application; shared by all instances. A provider without a row
-- has no failures.
CREATE TABLE circuits (
    application_id text COLLATE "C" NOT NULL,
    service text COLLATE "C" NOT NULL,
    is_open boolean NOT NULL,
    reason text,
    -- Consecutive failures, at any instance.
    failures int NOT NULL,
    -- The number of times that the circuit opened since it last recovered.
    openings int NOT NULL,
    opened_at timestamptz,
    retry_at timestamptz,
    -- The end of the current probe, which sends one notification.
    probe_until timestamptz,
    -- When the circuit closed again. The sending rate is limited at first.
    resumed_at timestamptz,
    CONSTRAINT circuits_pkey PRIMARY KEY (application_id, service)
);

-- Notifications that a provider rejected as invalid, for the operator.
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
