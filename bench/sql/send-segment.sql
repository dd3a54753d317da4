-- The statements of conversations for a batch of one message (Server/Store/Messages/BatchWriter*.swift), in one round
-- trip.
\set conversation random(:first, :last)
\set sender random(1, :senders)
\set number random(1, 9000000000000000)
\startpipeline
SELECT conversation_id FROM heads WHERE conversation_id = ANY (ARRAY[:conversation]::bigint[])
ORDER BY conversation_id FOR NO KEY UPDATE;
WITH drafts AS MATERIALIZED (
    SELECT n, conversation_id, secret, application_id, sender_id, client_message_id,
           data, mime, encoding, meta, push, reply_to
    FROM unnest(
        ARRAY[:conversation]::bigint[], ARRAY['0000000000000000000000'], ARRAY['bench'],
        ARRAY[:sender::bigint::text], ARRAY[:number::bigint::text],
        ARRAY['The quick brown fox jumps over the lazy dog, number 1'], ARRAY['text/plain'], ARRAY['utf8'],
        ARRAY[NULL]::text[], ARRAY[NULL]::text[], ARRAY[NULL]::bigint[]
    ) WITH ORDINALITY AS draft (
        conversation_id, secret, application_id, sender_id, client_message_id,
        data, mime, encoding, meta, push, reply_to, n
    )
), existing AS MATERIALIZED (
    SELECT drafts.n, messages.seq
    FROM drafts JOIN messages ON messages.conversation_id = drafts.conversation_id
        AND messages.sender_id = drafts.sender_id AND messages.client_message_id = drafts.client_message_id
), fresh AS MATERIALIZED (
    SELECT drafts.n, drafts.conversation_id, drafts.sender_id, drafts.client_message_id,
           drafts.data, drafts.mime, drafts.encoding, drafts.meta, drafts.push, drafts.reply_to,
           members.user_number, members.is_blocked, conversations.member_count,
           heads.last_seq, heads.last_change, heads.last_user_seq, heads.last_at,
           row_number() OVER (PARTITION BY drafts.conversation_id, members.is_blocked ORDER BY drafts.n) AS nth
    FROM drafts
    JOIN heads ON heads.conversation_id = drafts.conversation_id
    JOIN conversations ON conversations.conversation_id = drafts.conversation_id
        AND conversations.secret = drafts.secret
    JOIN members ON members.conversation_id = drafts.conversation_id
        AND members.user_id = drafts.sender_id AND members.application_id = drafts.application_id
    WHERE drafts.n NOT IN (SELECT existing.n FROM existing)
), clock AS MATERIALIZED (
    SELECT date_trunc('milliseconds', clock_timestamp()) AS now
), written AS (
    INSERT INTO messages (conversation_id, seq, change, user_seq, sender_id, sender_number, client_message_id,
                          data, mime, encoding, meta, push, reply_to, created_at)
    SELECT conversation_id, last_seq + nth, last_change + nth, last_user_seq + nth,
           sender_id, user_number, client_message_id,
           data, mime, encoding, meta, push, reply_to, greatest(last_at, now)
    FROM fresh CROSS JOIN clock WHERE NOT is_blocked
    ORDER BY n
), moved AS (
    UPDATE heads
    SET last_seq = heads.last_seq + added, last_change = heads.last_change + added,
        last_user_seq = heads.last_user_seq + added, last_at = greatest(heads.last_at, now)
    FROM (
        SELECT conversation_id, count(*) AS added FROM fresh WHERE NOT is_blocked GROUP BY conversation_id
    ) AS sums
    CROSS JOIN clock
    WHERE heads.conversation_id = sums.conversation_id
), marked AS (
    UPDATE members
    SET read_seq = last_seq + nth, read_user_seq = last_user_seq + nth,
        read_change = last_change + nth
    FROM (
        SELECT conversation_id, sender_id, last_seq, last_user_seq, last_change, max(nth) AS nth
        FROM fresh WHERE NOT is_blocked GROUP BY conversation_id, sender_id, last_seq, last_user_seq, last_change
    ) AS sent
    WHERE members.conversation_id = sent.conversation_id AND members.user_id = sent.sender_id
), queued AS (
    INSERT INTO outbox (conversation_id, from_seq, to_seq, written_at)
    SELECT conversation_id, last_seq + 1, last_seq + count(*), max(now)
    FROM fresh CROSS JOIN clock WHERE NOT is_blocked GROUP BY conversation_id, last_seq
)
SELECT n, last_seq + nth AS seq, last_change + nth AS change, user_number,
       greatest(last_at, now) AS created_at, member_count,
       (SELECT users.meta FROM users WHERE users.user_number = fresh.user_number AND users.meta IS NOT NULL)
           AS sender_meta
FROM fresh CROSS JOIN clock WHERE NOT is_blocked
UNION ALL
SELECT n, seq, NULL, NULL, NULL, NULL, NULL FROM existing
UNION ALL
SELECT n, NULL, NULL, NULL, NULL, NULL, NULL FROM fresh WHERE is_blocked;
\endpipeline
