-- Creates :count conversations with the members 1 … :members, in an application that no user signs in to.
SET search_path = conversations;

INSERT INTO users (application_id, user_id)
SELECT 'bench', n FROM generate_series(1, :members) AS n;

CREATE TEMPORARY TABLE made AS
WITH new AS (
    INSERT INTO conversations (
        application_id, secret, type, label, meta, white_list, join_by_token, creator_id, member_count, created_at
    )
    SELECT 'bench', '0000000000000000000000', 'group', 'bench ' || n, '{}', '{}', true, '1', :members, now()
    FROM generate_series(1, :count) AS n
    RETURNING conversation_id
)
SELECT conversation_id FROM new;

INSERT INTO heads (conversation_id, last_seq, last_change, last_user_seq, last_at)
SELECT conversation_id, 0, 0, 0, now() FROM made;

INSERT INTO members (conversation_id, application_id, user_id, user_number, joined_seq, is_admin)
SELECT conversation_id, application_id, user_id, user_number, user_id::bigint, user_id = '1'
FROM made, users WHERE application_id = 'bench';

ANALYZE users, conversations, heads, members;

SELECT min(conversation_id) FROM made;
