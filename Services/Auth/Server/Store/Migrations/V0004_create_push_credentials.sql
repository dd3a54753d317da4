-- By what an application's own notifications are handed to the push services, where it has brought such credentials.
CREATE TABLE push_credentials (
    application_id text COLLATE "C" NOT NULL,
    provider text COLLATE "C" NOT NULL,
    -- AES-256-GCM under TOKEN_ENCRYPTION_KEY; the application and the provider are its associated data.
    ciphertext bytea NOT NULL,
    -- Which TOKEN_ENCRYPTION_KEY.
    encryption_key_id text NOT NULL,
    changed_at timestamptz NOT NULL,
    CONSTRAINT push_credentials_pkey PRIMARY KEY (application_id, provider),
    CONSTRAINT push_credentials_provider CHECK (provider IN ('apns', 'fcm', 'vapid')),
    CONSTRAINT push_credentials_application_id_fkey FOREIGN KEY (application_id)
        REFERENCES applications (application_id)
);
