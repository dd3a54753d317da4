-- Push owns the registrations. push_session_id is the session that push named last. awaits_push marks a registration that the
-- device stated and push has not confirmed: until then, only push's event about session_id replaces it.
ALTER TABLE devices
    ADD COLUMN push_session_id text COLLATE "C",
    ADD COLUMN awaits_push boolean NOT NULL DEFAULT false,
    DROP CONSTRAINT devices_platform_known,
    -- A browser is registered without a token.
    ADD CONSTRAINT devices_platform_known CHECK (platform IN ('gcm', 'ios_sandbox', 'ios_production', 'web'));
