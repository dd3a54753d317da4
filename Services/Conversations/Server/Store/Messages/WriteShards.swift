import ConversationsAPI
import Logging
import Postgres
import Wire

/// The lanes of an instance; a conversation always goes by the same one.
struct WriteShards: Sendable {
    private let writeShards: [WriteShard]

    /// - Parameters:
    ///   - database: what is written to.
    ///   - configuration: how many lanes there are, and their limits.
    ///   - recalledBy: the subscribers of ``NotificationRecalled``.
    ///   - logger: told of batches that are run again.
    ///   - written: told what was written, once it is; must be quick.
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
        // Neighbouring ids go to different lanes, and so do those a power of two apart.
        let hash = UInt64(bitPattern: conversation.rawValue) &* 0x9E37_79B9_7F4A_7C15
        return writeShards[Int((hash >> 32) % UInt64(writeShards.count))]
    }
}
