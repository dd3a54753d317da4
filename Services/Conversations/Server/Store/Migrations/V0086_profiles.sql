-- Names and pictures of users, copied from the events of auth and photos, and from auth's answers about users without a
-- row. A row without a name says that auth knows no name, so that auth is not asked again.
CREATE TABLE profiles (
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    full_name text,
    -- Below the suite's public URL.
    avatar_path text,
    -- The times of the events: auth and photos both publish names, and their events may overtake each other.
    named_at timestamptz NOT NULL DEFAULT '-infinity',
    pictured_at timestamptz NOT NULL DEFAULT '-infinity',
    CONSTRAINT profiles_pkey PRIMARY KEY (application_id, user_id)
);
