-- People whom this service was told to wipe and of whom there may be something left. A row goes with the answer that nothing
-- is, and names somebody no longer than that.
CREATE TABLE unconfirmed_deletions (
    unconfirmed_deletion_id bigint GENERATED ALWAYS AS IDENTITY,
    deletion_job_id uuid NOT NULL,
    round int NOT NULL,
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    -- The number that he goes by here, where he has one: what is left may name him by that alone.
    user_number bigint,
    begun_at timestamptz NOT NULL,
    CONSTRAINT unconfirmed_deletions_pkey PRIMARY KEY (unconfirmed_deletion_id),
    CONSTRAINT unconfirmed_deletions_round_key UNIQUE (deletion_job_id, round)
);
