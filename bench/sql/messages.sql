-- Adds :messages messages to the conversation :conversation, all by its first member, a microsecond apart.
SET search_path = conversations;

INSERT INTO messages (
    conversation_id, seq, change, user_seq, sender_id, sender_number, client_message_id, data, mime, encoding, created_at
)
SELECT
    conversation_id, last_seq + n, last_change + n, last_user_seq + n, user_id, user_number, 'bench-' || n,
    'The quick brown fox jumps over the lazy dog, number ' || n, 'text/plain', 'utf8', last_at + n * interval '1 microsecond'
FROM heads JOIN LATERAL (
    SELECT user_id, user_number FROM members WHERE members.conversation_id = heads.conversation_id ORDER BY joined_seq LIMIT 1
) AS sender ON true, generate_series(1, :messages) AS n
WHERE conversation_id = :conversation;

UPDATE heads SET
    last_seq = last_seq + :messages, last_change = last_change + :messages, last_user_seq = last_user_seq + :messages,
    last_at = last_at + :messages * interval '1 microsecond'
WHERE conversation_id = :conversation;
