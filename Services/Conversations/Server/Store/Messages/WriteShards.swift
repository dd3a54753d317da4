import ConversationsAPI
import Logging
import Postgres
import Wire

/// The write shards of an instance; a conversation always uses the same one.
struct WriteShards: Sendable {
    private let writeShards: [WriteShard]

    /// - Parameters:
    ///   - database: stores the conversations.
    ///   - configuration: has the number of write shards and their limits.
    ///   - recalledBy: the subscribers of ``NotificationRecalled``.
    ///   - logger: receives retries of batches.
    ///   - written: receives the outcomes of a batch; must return quickly.
    init(
        database: PostgresPool,
        configuration: ConversationsConfiguration,
        recalledBy: [String] = [],
        logger: Logger,
        written: @escaping @Sendable ([CompletedWrite]) -> Void = { _ in }
    ) {
        writeShards = (0..<configuration.writeShards).map { _ in
            WriteShard(
                writer: BatchWriter(
                    database: database,
                    statementTimeout: configuration.writeShardTimeout,
                    recalledBy: recalledBy
                ),
                capacity: configuration.writeShardQueue,
                maximumBytes: configuration.writeShardQueueBytes,
                timeout: configuration.sendDeadline,
                logger: logger,
                written: written
            )
        }
    }

    func write(_ write: ConversationWrite) async throws -> WriteOutcome {
        try await shard(of: write.conversation).write(write)
    }

    func shard(of conversation: Conversation.ID) -> WriteShard {
        // Adjacent ids use different write shards, and so do ids that are a power of two apart.
        let hash = UInt64(bitPattern: conversation.rawValue) &* 0x9E37_79B9_7F4A_7C15
        return writeShards[Int((hash >> 32) % UInt64(writeShards.count))]
    }
}
