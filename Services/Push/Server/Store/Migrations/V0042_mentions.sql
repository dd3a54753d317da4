-- Whom the words of a notification name, beside the people they are for, as a JSON array of their user ids: where one of them is
-- deleted, the words go. Not indexed: every notification would pay for what is looked for once in a while.
ALTER TABLE notifications ADD COLUMN mentions text;
