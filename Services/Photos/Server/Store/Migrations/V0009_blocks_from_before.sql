-- How far the suite's list of blocks has been read: those that were made before this service heard of any. One row.
CREATE TABLE block_backfill (
    is_single_row boolean PRIMARY KEY DEFAULT true CONSTRAINT block_backfill_single_row CHECK (is_single_row),
    -- The last entry that was taken over.
    application_id text COLLATE "C" NOT NULL DEFAULT '',
    user_id text COLLATE "C" NOT NULL DEFAULT '',
    blocked_id text COLLATE "C" NOT NULL DEFAULT '',
    began_at timestamptz,
    ended_at timestamptz
);

INSERT INTO block_backfill DEFAULT VALUES;

-- What was heard while the list is read, and is newer than it may be: of such a block, or of all of a person's where no
-- other is named, the list is not believed.
CREATE TABLE block_backfill_events (
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    blocked_id text COLLATE "C" NOT NULL DEFAULT '',
    PRIMARY KEY (application_id, user_id, blocked_id)
);
