enum ConversationsTestsSkeleton {}
