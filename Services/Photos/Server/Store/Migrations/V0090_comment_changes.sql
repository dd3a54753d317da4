-- The comment that a change is about; null for a change of the post itself, and where the previous release wrote the row.
ALTER TABLE pending_changes ADD COLUMN comment_id bigint;
ALTER TABLE changes ADD COLUMN comment_id bigint;
