-- What happened to accounts that their owners may want to know of; kept for AUDIT_DAYS, and no longer than the account.
CREATE TABLE audit (
    user_id uuid NOT NULL,
    entry_id bigint GENERATED ALWAYS AS IDENTITY,
    kind text COLLATE "C" NOT NULL,
    happened_at timestamptz NOT NULL,
    session_id uuid,
    device_id text,
    user_agent text,
    address text,
    detail text,
    CONSTRAINT audit_pkey PRIMARY KEY (user_id, entry_id),
    CONSTRAINT audit_user_id_fkey FOREIGN KEY (user_id) REFERENCES accounts (user_id) ON DELETE CASCADE,
    CONSTRAINT audit_detail_length CHECK (char_length(detail) BETWEEN 1 AND 255)
);

-- On which devices somebody has signed in.
CREATE INDEX audit_sign_ins_idx ON audit (user_id, device_id, user_agent) WHERE kind = 'login.succeeded';
CREATE INDEX audit_happened_at_idx ON audit (happened_at);

-- Nobody signs in to an account that the operator has disabled.
ALTER TABLE accounts ADD COLUMN disabled_at timestamptz;
