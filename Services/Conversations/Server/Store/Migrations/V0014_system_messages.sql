-- Who leaves for good is looked for in what the suite has said of him, however many messages there are besides.
CREATE INDEX messages_system_idx ON messages (conversation_id)
    WHERE mime = 'application/diuit-chat-sys-message';
