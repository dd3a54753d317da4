-- By what name the instances of this service find each other, on whatever bus they share with others.
CREATE TABLE bus (
    name text NOT NULL CONSTRAINT bus_name_form CHECK (name ~ '^[a-z0-9_]{1,48}$')
);

INSERT INTO bus (name) VALUES ('roost_' || replace(gen_random_uuid()::text, '-', ''));

-- Who came into which conversation a short while ago, for instances that did not hear of it in time. `users` is null
-- where they are too many to be named.
CREATE TABLE member_joins (
    join_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    conversation_id bigint NOT NULL,
    application_id text COLLATE "C" NOT NULL,
    users text[] COLLATE "C",
    joined_at timestamptz NOT NULL
);

CREATE INDEX member_joins_by_time ON member_joins (joined_at);

-- The instances that run: each says again and again until when its word about who is connected holds.
CREATE TABLE instances (
    instance_id text COLLATE "C" PRIMARY KEY,
    lease_until timestamptz NOT NULL
);

-- Which devices have an open socket of their own, and at which instance. A row holds no longer than the lease of its
-- instance; it has no foreign key to it, since the instance is known first and forgotten last.
CREATE TABLE connected_devices (
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    device_id text COLLATE "C" NOT NULL,
    instance_id text COLLATE "C" NOT NULL,
    connected_at timestamptz NOT NULL,
    PRIMARY KEY (application_id, user_id, device_id, instance_id)
);

CREATE INDEX connected_devices_of_instance ON connected_devices (instance_id);

-- When the last of a user's sockets closed.
ALTER TABLE users ADD COLUMN last_seen_at timestamptz;
