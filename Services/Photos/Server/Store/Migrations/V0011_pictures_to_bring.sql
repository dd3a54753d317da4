-- Pictures that accounts elsewhere have of people, for those who have none here: each is brought once, when its owner has
-- been seen.
CREATE TABLE avatar_imports (
    person_id bigint PRIMARY KEY REFERENCES people ON DELETE CASCADE,
    url text NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    -- Infinity for somebody who has not been here.
    due_at timestamptz NOT NULL,
    CONSTRAINT avatar_imports_url_length CHECK (char_length(url) BETWEEN 1 AND 2048)
);

CREATE INDEX avatar_imports_due ON avatar_imports (due_at);
