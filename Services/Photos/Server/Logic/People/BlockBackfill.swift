import ConversationsAPI
import Logging
import Metrics
import Postgres
import ServiceHost
import Wire

/// Copies, once, the blocks that users made before photos was installed.
///
/// The backfill reads the blocks page by page from conversations while events arrive.
///
/// It copies each block in a transaction of its own, together with its position, so that a restarted process continues
/// there. An event is newer than a page entry about the same users. A block that cannot be copied is logged, counted
/// and skipped, so that it does not delay others.
struct BlockBackfill: Sendable {
    /// How many times a block is tried before it is skipped; the first failure may be a lock conflict.
    private static let maximumAttempts = 3
    private static let retryPause: Duration = .seconds(1)

    let database: PostgresPool
    let blocks: Blocks
    let conversations: BlocksClient
    let logger: Logger

    /// Copies the remaining blocks; does nothing once the backfill has ended.
    func read() async throws {
        try await BlockBackfillStore(db: database).begin()
        while let last = try await BlockBackfillStore(db: database).position() {
            let page = try await conversations.list(after: last).blocks
            guard !page.isEmpty else {
                try await end(after: last)
                continue
            }
            try await copy(page, after: last)
        }
    }

    private func copy(_ page: [ListedBlock], after position: ListedBlock) async throws {
        var last = position
        var failure: (any Error)?
        for block in page {
            do {
                if try await copyOrSkip(block, after: last) { last = block }
            } catch {
                // The database cannot hold the names of this block: the next block moves the position past it.
                guard FailedRow(Self.key(block), error) != nil else { throw error }
                failure = error
            }
        }
        // Without this check the same page would be read again without end.
        if last == position, let failure { throw failure }
    }

    /// - Returns: Whether the position moved to the block; false if another instance moved it elsewhere.
    /// - Throws: The error of the copy if the database is unavailable, or the error of moving the position.
    private func copyOrSkip(_ block: ListedBlock, after last: ListedBlock) async throws -> Bool {
        var attempt = 1
        while true {
            do {
                return try await move(to: block, after: last, isCopied: true)
            } catch {
                guard let failed = FailedRow(Self.key(block), error) else { throw error }
                if failed.reason == .failing, attempt < Self.maximumAttempts {
                    attempt += 1
                    try await Task.sleep(for: Self.retryPause)
                    continue
                }
                report(failed)
                return try await move(to: block, after: last, isCopied: false)
            }
        }
    }

    private func report(_ failed: FailedRow) {
        Counter(label: "roost_photos_blocks_skipped_total").increment()
        logger.error(
            "block skipped",
            metadata: [
                "key": "\(failed.key)", "reason": "\(failed.reason.rawValue)", "detail": "\(failed.detail)",
            ]
        )
    }

    private static func key(_ block: ListedBlock) -> [String] {
        [block.applicationId, block.userId, block.blockedId]
    }

    private func move(to block: ListedBlock, after last: ListedBlock, isCopied: Bool) async throws -> Bool {
        try await database.transaction { db in
            let store = BlockBackfillStore(db: db)
            guard try await store.lockPosition() == last else { return false }
            try await store.move(to: block)
            guard isCopied, try await !store.hasNewerEvent(of: block) else { return true }
            try await blocks.set(
                User.ID(application: block.applicationId, user: block.userId),
                User.ID(application: block.applicationId, user: block.blockedId),
                isBlocked: true,
                in: db
            )
            return true
        }
    }

    private func end(after last: ListedBlock) async throws {
        try await database.transaction { db in
            let store = BlockBackfillStore(db: db)
            guard try await store.lockPosition() == last else { return }
            try await store.end()
        }
    }
}
