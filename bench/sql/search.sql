-- Adds :messages messages to :conversations conversations from :first on, in turn and a millisecond apart, by their
-- members.
--
-- `common` is in each message, `tenth` in every tenth, `rare` in every 100,000th. The other words are distributed as in
-- speech.
SET search_path = conversations;

INSERT INTO messages (
    conversation_id, seq, change, user_seq, sender_id, sender_number, client_message_id, data, mime, encoding, created_at
)
SELECT
    :first + n % :conversations, n / :conversations + 1, n / :conversations + 1, n / :conversations + 1,
    members.user_id, members.user_number, 'bench-' || n,
    'common word' || floor(exp(random() * 9)) || ' word' || floor(exp(random() * 9)) || ' word' || floor(exp(random() * 9))
        || CASE WHEN n % 10 = 3 THEN ' tenth' ELSE '' END || CASE WHEN n % 100000 = 77777 THEN ' rare' ELSE '' END,
    'text/plain', 'utf8', heads.last_at + n * interval '1 millisecond'
FROM generate_series(0, :messages - 1) AS n
JOIN heads ON heads.conversation_id = :first + n % :conversations
JOIN members ON members.conversation_id = heads.conversation_id;

UPDATE heads SET (last_seq, last_change, last_user_seq, last_at) = (
    SELECT max(seq), max(change), max(user_seq), max(created_at) FROM messages
    WHERE messages.conversation_id = heads.conversation_id
)
WHERE conversation_id >= :first AND conversation_id < :first + :conversations;
