-- People who go, until every service has answered that nothing of them is left there. A row names somebody no longer than that.
CREATE TABLE deletion_jobs (
    deletion_id uuid NOT NULL,
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    started_at timestamptz NOT NULL,
    round int NOT NULL,
    -- Not before this, and not before all have answered, they are asked again; null where this was the last time.
    next_round_at timestamptz,
    CONSTRAINT deletion_jobs_pkey PRIMARY KEY (deletion_id)
);

CREATE INDEX deletion_jobs_started_at_idx ON deletion_jobs (started_at);

-- Whose answer is waited for, of those who were asked in this round.
CREATE TABLE deletion_job_services (
    deletion_id uuid NOT NULL,
    service text COLLATE "C" NOT NULL,
    CONSTRAINT deletion_job_services_pkey PRIMARY KEY (deletion_id, service),
    CONSTRAINT deletion_job_services_deletion_id_fkey FOREIGN KEY (deletion_id) REFERENCES deletion_jobs
        ON DELETE CASCADE
);
