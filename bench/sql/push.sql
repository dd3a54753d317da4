-- Creates :people users of one application with an iPhone each and the favourites `pianist` and `drummer`. All users
-- have disabled the drummer's broadcasts in `redditsets`.
SET search_path = push;

INSERT INTO devices (application_id, user_id, device_id, platform, token, token_hash, registered_at, seen_at)
SELECT
    'bench', 'user-' || n, 'phone', 'ios_production', token, sha256(convert_to(token, 'UTF8')), now(), now()
FROM generate_series(1, :people) AS n, lpad(to_hex(n), 64, '0') AS token;

INSERT INTO subscriptions (application_id, user_id, broadcaster, name, cooldown, disabled_communities)
SELECT 'bench', 'user-' || n, broadcaster, broadcaster, broadcaster = 'pianist', communities
FROM generate_series(1, :people) AS n,
    (VALUES ('pianist', ARRAY[]::text[]), ('drummer', ARRAY['redditsets'])) AS favourites (broadcaster, communities);

ANALYZE;
