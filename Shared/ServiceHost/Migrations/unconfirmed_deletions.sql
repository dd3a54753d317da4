-- Users and applications whose data this service is deleting. A row is deleted together with the confirmation that no
-- data is left, so the ids are not stored longer.
CREATE TABLE unconfirmed_deletions (
    unconfirmed_deletion_id bigint GENERATED ALWAYS AS IDENTITY,
    deletion_job_id uuid NOT NULL,
    round int NOT NULL,
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    -- The user's number in this service, if any; some remaining data may only contain the number.
    user_number bigint,
    begun_at timestamptz NOT NULL,
    CONSTRAINT unconfirmed_deletions_pkey PRIMARY KEY (unconfirmed_deletion_id),
    CONSTRAINT unconfirmed_deletions_round_key UNIQUE (deletion_job_id, round)
);
