-- The token of an ended session that was used by a token of its own, so that every service recognises it without a row of
-- the session. Null for sessions with access tokens, whose claims name the session.
ALTER TABLE revocations
    ADD COLUMN token_hash bytea,
    -- SHA-256 of the token.
    ADD CONSTRAINT revocations_token_hash_size CHECK (octet_length(token_hash) = 32);
