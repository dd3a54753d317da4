-- The address that was verified by a person who also held the account: by its session, its password, or a provider that
-- vouches for the address. Where it differs from accounts.email, an older credential may be another person's.
ALTER TABLE accounts ADD COLUMN proven_email text;

-- How the device of a sign-in that waits for its second factor was recognised; null for a new device.
ALTER TABLE login_challenges ADD COLUMN known_device bytea;
ALTER TABLE login_challenges ADD COLUMN has_device_token boolean NOT NULL DEFAULT false;

-- known_devices also keeps device tokens, and pairs of deviceId and network. Rows of the deviceId alone no longer count.
CREATE INDEX known_devices_user_id_idx ON known_devices (user_id, last_signed_in_at DESC);
