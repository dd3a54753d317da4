-- Where somebody's apps and browsers are reached. A row is one registration: it goes when its token turns out to be
-- another's, and a token that moves to somebody else gets a new key, so that what was meant for the one before is never
-- sent to the one after.
CREATE TABLE devices (
    device_key bigint GENERATED ALWAYS AS IDENTITY,
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    -- What the client calls it; the session's id where the client does not.
    device_id text COLLATE "C" NOT NULL,
    -- The session whose end is the end of the registration.
    session_id text COLLATE "C",
    platform text NOT NULL,
    -- Who issues the token. A token of Apple's is one device's, whichever of the two environments it is for.
    provider text NOT NULL GENERATED ALWAYS AS (
        CASE platform WHEN 'gcm' THEN 'fcm' WHEN 'web' THEN 'web' ELSE 'apns' END
    ) STORED,
    -- Of a browser: the address of its subscription.
    token text NOT NULL,
    -- SHA-256 of the token, which may be longer than what fits into an index.
    token_hash bytea NOT NULL,
    -- Of a browser alone, in base64url: what is sent to it is encrypted for these (RFC 8291).
    p256dh text,
    auth text,
    -- The number on the app's icon, from which notifications count on.
    badge bigint NOT NULL DEFAULT 0,
    registered_at timestamptz NOT NULL,
    seen_at timestamptz NOT NULL,
    -- Why nothing is sent to it until it is registered again.
    disabled_reason text,
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
    CONSTRAINT devices_badge_range CHECK (badge BETWEEN 0 AND 1000000)
)
-- Room for another badge beside the last: a notification then changes no index.
WITH (fillfactor = 80);

CREATE INDEX devices_session_id_idx ON devices (session_id) WHERE session_id IS NOT NULL;
CREATE INDEX devices_seen_at_idx ON devices (seen_at);

-- Sessions that have ended: what is heard of them too late, or registered in them at that moment, registers nothing.
CREATE TABLE ended_sessions (
    session_id text COLLATE "C" NOT NULL,
    ended_at timestamptz NOT NULL,
    CONSTRAINT ended_sessions_pkey PRIMARY KEY (session_id)
);

CREATE INDEX ended_sessions_ended_at_idx ON ended_sessions (ended_at);

-- What somebody wants to be notified of, and when; who has no row wants everything at any time.
CREATE TABLE settings (
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    enabled boolean NOT NULL,
    -- Minutes of the day in the time zone; across midnight where the end comes first.
    quiet_start smallint,
    quiet_end smallint,
    time_zone text COLLATE "C",
    -- Folded names.
    disabled_communities text[] COLLATE "C" NOT NULL DEFAULT '{}',
    disabled_kinds text[] COLLATE "C" NOT NULL DEFAULT '{}',
    CONSTRAINT settings_pkey PRIMARY KEY (application_id, user_id),
    CONSTRAINT settings_quiet_hours CHECK (
        num_nonnulls(quiet_start, quiet_end, time_zone) IN (0, 3) AND quiet_start <> quiet_end
        AND quiet_start BETWEEN 0 AND 1439 AND quiet_end BETWEEN 0 AND 1439
    )
);

-- Whose broadcasts somebody wants to hear of. One that was removed stays as a mark, so that no import brings it back.
CREATE TABLE subscriptions (
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    -- The folded name.
    broadcaster text COLLATE "C" NOT NULL,
    -- As it was written first.
    name text NOT NULL,
    notify boolean NOT NULL DEFAULT true,
    cooldown boolean NOT NULL DEFAULT false,
    sound text NOT NULL DEFAULT 'chord',
    -- Folded names.
    disabled_communities text[] COLLATE "C" NOT NULL DEFAULT '{}',
    icon_url text,
    removed_at timestamptz,
    CONSTRAINT subscriptions_pkey PRIMARY KEY (application_id, user_id, broadcaster)
);

-- Whom a broadcast concerns, in the order in which it is decided; who wants no notification too, since the log says why
-- there was none.
CREATE INDEX subscriptions_broadcaster_idx ON subscriptions (broadcaster, application_id, user_id)
    WHERE removed_at IS NULL;

-- Who hears what an application's server says about a topic.
CREATE TABLE topic_subscriptions (
    application_id text COLLATE "C" NOT NULL,
    topic text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    CONSTRAINT topic_subscriptions_pkey PRIMARY KEY (application_id, topic, user_id)
);

CREATE INDEX topic_subscriptions_user_idx ON topic_subscriptions (application_id, user_id);
