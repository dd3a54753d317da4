-- Who is nobody any more, while what was his is being cleared away.
CREATE TABLE departures (
    person_id bigint PRIMARY KEY REFERENCES people ON DELETE CASCADE,
    departed_at timestamptz NOT NULL
);
