-- People whom this service was told to wipe and of whom there may be something left. A row goes with the answer that nothing
-- is, and names somebody no longer than that.
CREATE TABLE erasures (
    erasure_id bigint GENERATED ALWAYS AS IDENTITY,
    departure_id uuid NOT NULL,
    round int NOT NULL,
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    -- The number that he goes by here, where he has one: what is left may name him by that alone.
    person_number bigint,
    begun_at timestamptz NOT NULL,
    CONSTRAINT erasures_pkey PRIMARY KEY (erasure_id),
    CONSTRAINT erasures_round_key UNIQUE (departure_id, round)
);
