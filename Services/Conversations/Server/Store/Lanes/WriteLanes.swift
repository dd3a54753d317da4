import ConversationsAPI
import Logging
import Postgres
import Wire

/// The lanes of an instance; a conversation always goes by the same one.
struct WriteLanes: Sendable {
    private let lanes: [WriteLane]

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
        written: @escaping @Sendable ([LaneRecord]) -> Void = { _ in }
    ) {
        lanes = (0..<configuration.lanes).map { _ in
            WriteLane(
                segment: SendSegment(
                    database: database,
                    statementTimeout: configuration.laneTimeout,
                    recalledBy: recalledBy
                ),
                capacity: configuration.laneQueue,
                maximumBytes: configuration.laneQueueBytes,
                patience: configuration.sendDeadline,
                logger: logger,
                written: written
            )
        }
    }

    func write(_ write: LaneWrite) async throws -> LaneOutcome {
        try await lane(of: write.conversation).write(write)
    }

    func lane(of conversation: Conversation.ID) -> WriteLane {
        // Neighbouring ids go to different lanes, and so do those a power of two apart.
        let hash = UInt64(bitPattern: conversation.rawValue) &* 0x9E37_79B9_7F4A_7C15
        return lanes[Int((hash >> 32) % UInt64(lanes.count))]
    }
}
