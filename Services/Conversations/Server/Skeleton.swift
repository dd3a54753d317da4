enum ConversationsServerSkeleton {}
