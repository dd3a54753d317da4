-- Who is nobody any more, while what was his is being cleared away.
CREATE TABLE person_deletions (
    person_id bigint PRIMARY KEY REFERENCES people ON DELETE CASCADE,
    deleted_at timestamptz NOT NULL
);
