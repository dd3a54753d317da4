enum ConversationsAPISkeleton {}
