-- People who are no users any more, and what is still to be done about that, a little at a time: the conversations that
-- they were in and have to leave, and behind which conversation their name is looked for.
CREATE TABLE user_deletions (
    deletion_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    deleted_at timestamptz NOT NULL,
    conversations bigint[] NOT NULL,
    searched_up_to bigint NOT NULL DEFAULT 0
);
