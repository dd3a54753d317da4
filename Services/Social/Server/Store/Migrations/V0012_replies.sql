-- Answers in threads are brought to their network as posts are: what was sent is known after a crash, and not sent twice.
ALTER TABLE posts ADD COLUMN thread text;
