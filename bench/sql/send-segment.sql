\set conversation random(:first, :last)
\set sender random(1, :senders)
\set number random(1, 9000000000000000)
\startpipeline
SELECT conversation_id, last_seq, last_change, last_spoken, last_at
FROM heads WHERE conversation_id = ANY (ARRAY[:conversation::bigint]) ORDER BY conversation_id FOR NO KEY UPDATE;
WITH drafts AS (
    SELECT draft.*, heads.last_seq, heads.last_change, heads.last_spoken,
        greatest(heads.last_at, clock_timestamp()) AS at, members.user_number
    FROM (SELECT 1 AS n, :conversation::bigint AS conversation_id, (:sender::bigint)::text AS sender_id,
        (:number::bigint)::text AS client_message_id) AS draft
    JOIN heads USING (conversation_id)
    JOIN members ON members.conversation_id = draft.conversation_id AND members.user_id = draft.sender_id
    WHERE NOT EXISTS (
        SELECT FROM messages WHERE messages.conversation_id = draft.conversation_id
            AND messages.sender_id = draft.sender_id AND messages.client_message_id = draft.client_message_id
    )
), written AS (
    INSERT INTO messages (conversation_id, seq, change, spoken, sender_id, sender_number, client_message_id, data, mime,
        encoding, created_at)
    SELECT conversation_id, last_seq + n, last_change + n, last_spoken + n, sender_id, user_number, client_message_id,
        'The quick brown fox jumps over the lazy dog', 'text/plain', 'utf8', at
    FROM drafts RETURNING conversation_id, seq, change, spoken, created_at
), moved AS (
    UPDATE heads SET last_seq = written.seq, last_change = written.change, last_spoken = written.spoken,
        last_at = written.created_at
    FROM written WHERE heads.conversation_id = written.conversation_id
), marked AS (
    UPDATE members SET read_seq = written.seq, read_spoken = written.spoken
    FROM written WHERE members.conversation_id = written.conversation_id AND members.user_id = (:sender::bigint)::text
), noted AS (
    INSERT INTO outbox (conversation_id, from_seq, to_seq, written_at)
    SELECT conversation_id, seq, seq, created_at FROM written
)
SELECT conversation_id, seq, created_at FROM written;
\endpipeline
