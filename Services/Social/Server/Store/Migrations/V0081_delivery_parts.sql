-- Which elements of the post the network takes, so that a later reader sees the same `parts` as the client that posted.
ALTER TABLE deliveries ADD COLUMN parts jsonb;
