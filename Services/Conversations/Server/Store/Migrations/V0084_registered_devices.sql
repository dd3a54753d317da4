-- The session whose push registration a device has, so that a session applies the one of its sign-in once; and what the app
-- stored about the device, compact JSON.
ALTER TABLE devices
    ADD COLUMN session_id text COLLATE "C",
    ADD COLUMN meta text CONSTRAINT devices_meta_size CHECK (octet_length(meta) <= 5120);

-- For the deletion of an application, which also reaches conversations without members.
CREATE INDEX conversations_of_application ON conversations (application_id, conversation_id);

-- Null in rows of an older release.
ALTER TABLE conversation_deletions ADD COLUMN application_id text COLLATE "C";
