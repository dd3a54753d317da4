-- Push receives updates and deletions too, without an alert. The default is what an earlier release means by needs_push.
ALTER TABLE changes ADD COLUMN is_alert boolean NOT NULL DEFAULT true;

-- The tokens of an account have ended for good; the list is empty, and the id names the account.
ALTER TABLE changes DROP CONSTRAINT changes_kind;
ALTER TABLE changes ADD CONSTRAINT changes_kind CHECK (kind IN ('created', 'updated', 'deleted', 'reauthenticate'));
