-- Users who receive changes at once: by an open stream, which an instance confirms again and again, or on a push device. The
-- lists of these users are polled without backoff.
CREATE TABLE user_presence (
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    has_device boolean NOT NULL DEFAULT false,
    stream_until timestamptz,
    CONSTRAINT user_presence_pkey PRIMARY KEY (application_id, user_id)
);

CREATE INDEX user_presence_stream_until_idx ON user_presence (stream_until) WHERE NOT has_device;

-- The picture of the account on its network.
ALTER TABLE accounts ADD COLUMN avatar_url text;
