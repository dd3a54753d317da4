-- Bytes of the files that a user has sent and that are still kept. A file counts for its owner once its bytes are there,
-- until it is removed. Files from before this migration count for no user.
ALTER TABLE users ADD COLUMN stored_bytes bigint NOT NULL DEFAULT 0;

-- `owner_number` is a `user_number`; `size` is NULL until the file counts.
ALTER TABLE files
    ADD COLUMN owner_number bigint,
    ADD COLUMN size bigint;
