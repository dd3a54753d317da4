-- By what name the instances of this service find each other, on whatever bus they share with others.
CREATE TABLE bus (
    name text NOT NULL CONSTRAINT bus_name_form CHECK (name ~ '^[a-z0-9_]{1,48}$')
);

INSERT INTO bus (name) VALUES ('roost_' || replace(gen_random_uuid()::text, '-', ''));

-- What happened to posts, noted in the transaction that made it so. It has no number among the others yet: a number taken
-- here could be committed after a higher one, and who had read so far would never look back.
CREATE TABLE pending_changes (
    change_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    application_id text COLLATE "C" NOT NULL,
    kind text NOT NULL,
    -- The post; 0 where it is about a person alone.
    author_id bigint NOT NULL,
    number bigint NOT NULL
);

-- The same, once each has a number: within an application 1, 2, 3 … without a gap, in the order in which they were
-- committed with it. Swept after some minutes.
CREATE TABLE changes (
    application_id text COLLATE "C" NOT NULL,
    change_number bigint NOT NULL,
    kind text NOT NULL,
    author_id bigint NOT NULL,
    number bigint NOT NULL,
    numbered_at timestamptz NOT NULL,
    PRIMARY KEY (application_id, change_number)
);

CREATE INDEX changes_by_time ON changes (numbered_at);

-- The last number of each application, and when it was given: known longer than the change itself is.
CREATE TABLE change_counters (
    application_id text COLLATE "C" PRIMARY KEY,
    last_change_number bigint NOT NULL,
    last_at timestamptz NOT NULL
) WITH (fillfactor = 50);
