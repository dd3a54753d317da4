-- Which elements of the post the network takes, so that a later reader sees the same `parts` as the client that posted.
ALTER TABLE publications ADD COLUMN parts jsonb;
