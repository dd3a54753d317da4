import ConversationsAPI
import Foundation
import Postgres
import ServiceHost
import Wire

/// The rules of blocking: a blocked user cannot write in the direct conversation, and learns of the block only by
/// trying.
struct Blocks: Sendable {
    let database: PostgresPool
    let users: KnownUsers
    let cursors: CursorSigner
    let events: EventOutbox

    /// The maximum number of users that one user may block.
    static let maximum = 10_000
    private static let list = "blocks"
    private static let blockedPeersLimit = 1_000

    func add(_ named: String, by user: User.ID) async throws -> Block {
        let name = try await users.require(named, of: user.application, field: "userId")
        guard !name.isExactly(user.user) else {
            throw APIError(.unprocessable, "cannot_block_self", "a user cannot block their own account")
        }
        return try await database.transaction { db in
            let direct = try await lockDirect(of: user, and: name, on: db)
            let store = BlockStore(db: db)
            if let existing = try await store.find(name, by: user) { return existing }
            guard try await store.count(of: user, upTo: Self.maximum) < Self.maximum else {
                throw APIError(.unprocessable, "too_many_blocks", "a user may block at most \(Self.maximum) users")
            }
            guard let block = try await store.insert(name, by: user) else {
                throw APIError.unavailable("the block list")
            }
            if let direct { try await MemberStore(db: db).set(blocked: true, name, in: direct.id) }
            let event = UserBlocked(applicationId: user.application, userId: user.user, blockedId: name)
            try await events.write(event, in: db)
            return block
        }
    }

    func remove(_ named: String, by user: User.ID) async throws -> Removal {
        let name = try DraftRules.userID(named, field: "userId")
        guard let name = KnownUsers.canonicalID(name, in: user.application), !name.isExactly(user.user) else {
            return Removal()
        }
        return try await database.transaction { db in
            let direct = try await lockDirect(of: user, and: name, on: db)
            guard try await BlockStore(db: db).delete(name, by: user) else { return Removal() }
            if let direct { try await MemberStore(db: db).set(blocked: false, name, in: direct.id) }
            let event = UserUnblocked(applicationId: user.application, userId: user.user, blockedId: name)
            try await events.write(event, in: db)
            return Removal()
        }
    }

    func list(of user: User.ID, limit: Int, cursor: String?) async throws -> Page<Block> {
        let last = try cursor.map { try cursors.position($0, of: Self.list, for: user, as: String.self) }
        let found = try await BlockStore(db: database.reads).page(of: user, after: last, limit: limit + 1)
        let page = Array(found.prefix(limit))
        guard found.count > limit, let last = page.last else { return Page(page) }
        return Page(page, next: try cursors.sign(last.userId, of: Self.list, for: user))
    }

    func blockedPeers(from user: User.ID, after last: String?) async throws -> BlockedPeers {
        let store = BlockStore(db: database.reads)
        let found = try await store.blockedPeers(from: user, after: last ?? "", limit: Self.blockedPeersLimit + 1)
        return BlockedPeers(
            userIds: Array(found.prefix(Self.blockedPeersLimit)),
            more: found.count > Self.blockedPeersLimit
        )
    }

    /// Returns entries of all block lists, for a service that starts to keep a copy.
    func list(after last: ListedBlock) async throws -> ListedBlocks {
        ListedBlocks(blocks: try await BlockStore(db: database.reads).all(after: last, limit: Self.blockedPeersLimit))
    }

    /// Locks the pair, so that no other transaction creates their conversation, and locks an existing conversation, so
    /// that it accepts no message meanwhile.
    private func lockDirect(
        of user: User.ID,
        and other: String,
        on db: PostgresTransaction
    ) async throws -> ConversationToken? {
        let (pair, directs) = (Pair(user, other), DirectStore(db: db))
        try await directs.lock(pair)
        guard let direct = try await directs.conversation(of: pair), try await HeadStore(db: db).lock(direct.id) else {
            return nil
        }
        return direct
    }
}
