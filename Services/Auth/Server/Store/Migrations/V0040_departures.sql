-- People who go, until every service has answered that nothing of them is left there. A row names somebody no longer than that.
CREATE TABLE departures (
    departure_id uuid NOT NULL,
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    begun_at timestamptz NOT NULL,
    round int NOT NULL,
    -- Not before this, and not before all have answered, they are asked again; null where this was the last time.
    next_round_at timestamptz,
    CONSTRAINT departures_pkey PRIMARY KEY (departure_id)
);

CREATE INDEX departures_begun_at_idx ON departures (begun_at);

-- Whose answer is waited for, of those who were asked in this round.
CREATE TABLE departure_services (
    departure_id uuid NOT NULL,
    service text COLLATE "C" NOT NULL,
    CONSTRAINT departure_services_pkey PRIMARY KEY (departure_id, service),
    CONSTRAINT departure_services_departure_id_fkey FOREIGN KEY (departure_id) REFERENCES departures
        ON DELETE CASCADE
);
