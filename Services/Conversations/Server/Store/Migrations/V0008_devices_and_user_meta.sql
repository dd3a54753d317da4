-- What somebody's apps are known by. The serial is what the account server called the device, or the session's id where
-- nobody named one; the number is what diuit's clients know as a device's `id`.
CREATE TABLE devices (
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    serial text COLLATE "C" NOT NULL CHECK (char_length(serial) BETWEEN 1 AND 255),
    device_number bigint GENERATED ALWAYS AS IDENTITY,
    platform text CONSTRAINT devices_platform_known CHECK (platform IN ('gcm', 'ios_sandbox', 'ios_production')),
    push_token text CONSTRAINT devices_push_token_size CHECK (octet_length(push_token) BETWEEN 1 AND 4096),
    badge bigint CONSTRAINT devices_badge_range CHECK (badge BETWEEN 0 AND 1000000),
    seen_at timestamptz NOT NULL,
    PRIMARY KEY (application_id, user_id, serial),
    CONSTRAINT devices_number_key UNIQUE (device_number),
    FOREIGN KEY (application_id, user_id) REFERENCES users
);

-- What a user says about himself, compact JSON; it is shown with each of his messages. Few have any, so the index that
-- every message is looked up in holds only those.
ALTER TABLE users
    ADD COLUMN meta text CONSTRAINT users_meta_size CHECK (octet_length(meta) <= 5120);

CREATE INDEX users_with_meta ON users (user_number) WHERE meta IS NOT NULL;
