-- Everybody who was ever seen here. Inside the schema a person is a number, since the rows that name people are many and
-- small; outside it he is (application, user).
--
-- A post takes its number and its time under the lock of its author's row, so that one that is committed late never hides
-- behind a later one: `last_posted_at` never goes back, and no number is given twice.
CREATE TABLE people (
    person_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    full_name text NOT NULL,
    picture_url text,
    bio text NOT NULL DEFAULT '',
    searchable boolean NOT NULL DEFAULT true,
    post_count bigint NOT NULL DEFAULT 0,
    follower_count bigint NOT NULL DEFAULT 0,
    following_count bigint NOT NULL DEFAULT 0,
    last_post_number bigint NOT NULL DEFAULT 0,
    last_posted_at timestamptz,
    created_at timestamptz NOT NULL,
    CONSTRAINT people_user_key UNIQUE (application_id, user_id),
    CONSTRAINT people_counts CHECK (post_count >= 0 AND follower_count >= 0 AND following_count >= 0)
) WITH (fillfactor = 80);

-- Who does not want to see whom: a copy of the suite's one list, which conversations keeps. It hides both from each other.
CREATE TABLE blocks (
    blocker_id bigint NOT NULL REFERENCES people,
    blocked_id bigint NOT NULL REFERENCES people,
    PRIMARY KEY (blocker_id, blocked_id),
    CONSTRAINT blocks_another CHECK (blocker_id <> blocked_id)
);

CREATE INDEX blocks_of_blocked ON blocks (blocked_id, blocker_id);
