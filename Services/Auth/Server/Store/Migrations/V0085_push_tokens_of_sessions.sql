-- The push token that a client gave when its session was opened; conversations registers the device with it.
ALTER TABLE sessions
    ADD COLUMN push_token text,
    ADD CONSTRAINT sessions_push_token_size CHECK (octet_length(push_token) BETWEEN 1 AND 4096);
