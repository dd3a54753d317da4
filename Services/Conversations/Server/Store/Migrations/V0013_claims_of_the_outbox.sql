-- Whoever hands on looks for what nobody has past all that others have, or that rests.
CREATE INDEX outbox_claimed_idx ON outbox (claimed_until) INCLUDE (conversation_id) WHERE claimed_until IS NOT NULL;
