-- Finds the newest account that has not verified an address, for login and for another verification mail. Several accounts
-- may name the same address until one of them verifies it.
CREATE INDEX accounts_unverified_email_idx ON accounts (lower(email COLLATE "C"), created_at DESC)
    WHERE NOT email_verified AND email IS NOT NULL;
