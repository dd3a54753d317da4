-- Users for whom the event devices.changed said last that they have a device.
CREATE TABLE device_owners (
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    CONSTRAINT device_owners_pkey PRIMARY KEY (application_id, user_id)
);
