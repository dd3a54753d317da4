-- The statement of conversations for the 20 newest messages (Server/Store/MessageStore.swift), for the only member.
WITH scope AS MATERIALIZED (
    SELECT heads.last_seq, conversations.member_count
    FROM conversations
    JOIN heads ON heads.conversation_id = conversations.conversation_id
    JOIN members ON members.conversation_id = conversations.conversation_id
    WHERE conversations.conversation_id = :conversation AND conversations.secret = :secret
        AND members.user_id = :user AND members.application_id = 'roost'
), span AS MATERIALIZED (
    SELECT member_count, CASE
        WHEN NULL::bigint IS NOT NULL THEN NULL::bigint + 20
        WHEN NULL::bigint IS NOT NULL THEN least(NULL::bigint - 1, last_seq)
        WHEN NULL::timestamptz IS NULL THEN last_seq - 0
        ELSE coalesce((
            SELECT messages.seq FROM messages
            WHERE messages.conversation_id = :conversation AND messages.created_at < NULL::timestamptz
            ORDER BY messages.created_at DESC, messages.seq DESC LIMIT 1
        ), 0) - 0
    END AS high
    FROM scope
), member_list AS MATERIALIZED (
    SELECT array_agg(user_id ORDER BY joined_seq) AS users, array_agg(read_seq ORDER BY joined_seq) AS seqs,
           array_agg(read_change ORDER BY joined_seq) AS changes
    FROM members
    WHERE (SELECT member_count FROM scope) <= 100 AND conversation_id = :conversation
)
SELECT found.seq, found.change, found.sender_id, found.sender_number, found.client_message_id,
       found.data, found.mime, found.encoding, found.meta, found.created_at,
       found.edited_at, found.deleted_at, found.reply_to, found.reactions,
       member_list.users, member_list.seqs, member_list.changes
FROM span
LEFT JOIN LATERAL (
    SELECT messages.seq, messages.change, messages.sender_id, messages.sender_number, messages.client_message_id,
           messages.data, messages.mime, messages.encoding, messages.meta, messages.created_at,
           messages.edited_at, messages.deleted_at, messages.reply_to,
           CASE WHEN messages.reaction_count > 0 THEN (
               SELECT json_object_agg(emoji, users)::text FROM (
                   SELECT emoji, json_agg(user_id ORDER BY reactions.change) AS users FROM reactions
                   WHERE reactions.conversation_id = messages.conversation_id AND reactions.seq = messages.seq
                   GROUP BY emoji
               ) AS made
           ) END AS reactions,
           row_number() OVER (ORDER BY messages.seq DESC) AS n
    FROM messages
    WHERE messages.conversation_id = :conversation
        AND messages.seq > span.high - 20 AND messages.seq <= span.high
) AS found ON true
LEFT JOIN member_list ON found.n = 1
ORDER BY found.n;
