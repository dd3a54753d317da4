-- Mails that are to be written: what about and to whom. What one says, and above all the link in it, is made when it is
-- sent, so no secret waits here; and whether an address is anybody's is looked up then, so asking costs the same for all.
CREATE TABLE emails (
    email_id uuid NOT NULL,
    kind text COLLATE "C" NOT NULL,
    address text NOT NULL,
    -- The account it is about; null where an address is all that was said.
    user_id uuid,
    created_at timestamptz NOT NULL,
    -- When it may be tried next; also how long whoever tries it now has it to himself.
    due_at timestamptz NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    CONSTRAINT emails_pkey PRIMARY KEY (email_id),
    CONSTRAINT emails_user_id_fkey FOREIGN KEY (user_id) REFERENCES accounts (user_id) ON DELETE CASCADE,
    CONSTRAINT emails_address_length CHECK (char_length(address) BETWEEN 3 AND 254),
    CONSTRAINT emails_attempts CHECK (attempts >= 0)
);

CREATE INDEX emails_due_at_idx ON emails (due_at);
CREATE INDEX emails_user_id_idx ON emails (user_id);

-- Links that were sent and not followed yet.
CREATE TABLE email_links (
    -- SHA-256 of the token in it.
    hash bytea NOT NULL,
    purpose text COLLATE "C" NOT NULL,
    user_id uuid NOT NULL,
    -- Where it was sent: who follows it reads that mailbox.
    address text NOT NULL,
    expires_at timestamptz NOT NULL,
    CONSTRAINT email_links_pkey PRIMARY KEY (hash),
    CONSTRAINT email_links_user_id_fkey FOREIGN KEY (user_id) REFERENCES accounts (user_id) ON DELETE CASCADE,
    CONSTRAINT email_links_hash_size CHECK (octet_length(hash) = 32),
    CONSTRAINT email_links_purpose CHECK (purpose IN ('verify', 'reset'))
);

CREATE INDEX email_links_user_id_idx ON email_links (user_id, purpose);
CREATE INDEX email_links_expires_at_idx ON email_links (expires_at);
