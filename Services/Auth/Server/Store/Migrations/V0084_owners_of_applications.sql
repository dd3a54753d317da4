-- The account that manages an application; null where administrators alone do. An application whose deletion has begun keeps its
-- row until every service has deleted its data.
ALTER TABLE applications
    ADD COLUMN owner_id uuid,
    ADD COLUMN deleted_at timestamptz,
    ADD CONSTRAINT applications_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES accounts (user_id) ON DELETE SET NULL;

CREATE INDEX applications_owner_id_idx ON applications (owner_id, created_at DESC, application_id DESC)
    WHERE owner_id IS NOT NULL;
CREATE INDEX applications_deleted_at_idx ON applications (deleted_at) WHERE deleted_at IS NOT NULL;

-- The users of applications who have signed in. Conversations also knows users whom others have named.
CREATE TABLE application_users (
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    first_signed_in_at timestamptz NOT NULL,
    last_signed_in_at timestamptz NOT NULL,
    CONSTRAINT application_users_pkey PRIMARY KEY (application_id, user_id),
    CONSTRAINT application_users_application_id_fkey FOREIGN KEY (application_id)
        REFERENCES applications (application_id)
);

INSERT INTO application_users (application_id, user_id, first_signed_in_at, last_signed_in_at)
SELECT sessions.application, sessions.user_id, min(sessions.created_at), max(sessions.created_at)
FROM sessions JOIN applications ON applications.application_id = sessions.application
WHERE sessions.token_hash IS NOT NULL
GROUP BY sessions.application, sessions.user_id;
