import ConversationsAPI
import Postgres
import Wire

/// Takes over, once, the blocks that were made before this service heard of any: an installation that had conversations
/// and no photos has some.
///
/// They are read page by page from conversations while events come in, and taken over one by one: a process that ends goes on
/// where it was. An event is newer than what a page says of the same people, whichever comes first.
struct BlockSurvey: Sendable {
    let database: PostgresPool
    let blocks: Blocks
    let conversations: BlocksClient

    /// Until all is taken over; then, and ever after, it does nothing.
    func read() async throws {
        try await BlockSurveyStore(db: database).begin()
        while var last = try await BlockSurveyStore(db: database).position() {
            let page = try await conversations.list(after: last).blocks
            for block in page where try await go(on: block, after: last) { last = block }
            guard page.isEmpty else { continue }
            try await end(after: last)
        }
    }

    /// False: another instance is at it, and somewhere else.
    private func go(on block: ListedBlock, after last: ListedBlock) async throws -> Bool {
        try await database.transaction { db in
            let store = BlockSurveyStore(db: db)
            guard try await store.lockPosition() == last else { return false }
            try await store.move(to: block)
            guard try await !store.hasNews(of: block) else { return true }
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
            let store = BlockSurveyStore(db: db)
            guard try await store.lockPosition() == last else { return }
            try await store.end()
        }
    }
}
