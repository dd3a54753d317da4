import ConversationsAPI
import Postgres
import Wire

/// The rules of membership: joining, leaving, adding, kicking and appointing admins.
///
/// Each operation locks the conversation's head first, as every message does. So no message of a leaving member is
/// written after the member has left.
struct Members: Sendable {
    let conversations: Conversations

    /// Admits users on the white list and, where `joinByToken` is set, every user with the token who was not kicked.
    ///
    /// A user who has only the id (`byID`) joins by the white list alone. Other users receive the error that the
    /// conversation does not exist, because ids can be guessed. A member of a direct conversation receives
    /// `group_required`.
    func join(_ token: ConversationToken, _ user: User.ID, byID: Bool = false) async throws -> Conversation {
        let joined = try await conversations.database.transaction { db in
            let membership = try await conversations.membership(token, of: user, on: db)
            if membership.isAdmin != nil {
                guard !membership.isDirect else { throw Conversations.groupRequired }
            } else {
                guard membership.admits(user.user, byToken: !byID) else {
                    throw byID ? Conversations.notFound : Self.joinNotAllowed
                }
                try await add(user, to: token, membership, liftsKick: false, on: db)
            }
            return try conversations.visible(await ConversationStore(db: db).view(token, for: user))
        }
        conversations.changeNotifier?.memberJoined(in: token.id)
        return await conversations.withProfiles(joined, for: user)
    }

    func leave(_ token: ConversationToken, _ user: User.ID) async throws -> Conversation {
        try await conversations.change(token, by: user, inGroup: true) { db, _ in
            _ = try await MemberStore(db: db).remove(user.user, from: token.id)
            try await MemberStore(db: db).recordLeave(user, token.id)
            try await MemberStore(db: db).ensureAdmin(in: token.id)
            try await HeadStore(db: db).append(.left(user.user), to: token.id)
        }
    }

    /// - Throws: `blocked` when one of the two users has blocked the other; `member_left` for a user who left
    ///   voluntarily.
    func add(_ named: String, to token: ConversationToken, by admin: User.ID) async throws -> Conversation {
        // Users without admin rights receive this error before any error about the named user.
        try await conversations.requireAdmin(token, admin)
        let name = try await conversations.users.require(named, of: admin.application, field: "userId")
        let changed = try await conversations.change(token, by: admin, asAdmin: true) { db, membership in
            guard try await MemberStore(db: db).isAdmin(name, in: token.id) == nil else { return }
            let user = User.ID(application: admin.application, user: name)
            try await conversations.requireNoBlock(between: admin, and: [name], on: db)
            guard try await !MemberStore(db: db).hasLeft(name, token.id) else { throw Self.hasLeft }
            try await add(user, to: token, membership, liftsKick: true, on: db)
        }
        conversations.changeNotifier?.memberJoined(in: token.id)
        return changed
    }

    func kick(_ named: String, from token: ConversationToken, by admin: User.ID) async throws -> Conversation {
        let name = try DraftRules.userID(named, field: "userId")
        return try await conversations.change(token, by: admin, asAdmin: true) { db, membership in
            let user = try Self.user(name, inApplicationOf: admin)
            guard user != admin else {
                throw APIError(.forbidden, "cannot_kick_self", "an admin cannot kick their own account; leave instead")
            }
            guard !user.user.isExactly(membership.creator) else {
                throw APIError(.forbidden, "cannot_kick_creator", "the creator cannot be kicked")
            }
            guard try await MemberStore(db: db).remove(user.user, from: token.id) else { throw Self.notFound }
            try await MemberStore(db: db).recordKick(user, from: token.id)
            try await HeadStore(db: db).append(.kicked(user.user), to: token.id)
        }
    }

    func addAdmin(_ named: String, in token: ConversationToken, by admin: User.ID) async throws -> Conversation {
        try await conversations.change(token, by: admin, asAdmin: true) { db, _ in
            let user = try Self.user(DraftRules.userID(named, field: "userId"), inApplicationOf: admin)
            guard try await MemberStore(db: db).set(admin: true, user.user, in: token.id) else { throw Self.notFound }
        }
    }

    func removeAdmin(_ named: String, in token: ConversationToken, by admin: User.ID) async throws -> Conversation {
        try await conversations.change(token, by: admin, asAdmin: true) { db, membership in
            let user = try Self.user(DraftRules.userID(named, field: "userId"), inApplicationOf: admin)
            let members = MemberStore(db: db)
            guard let isAdmin = try await members.isAdmin(user.user, in: token.id) else { throw Self.notFound }
            guard isAdmin else { return }
            guard !user.user.isExactly(membership.creator) else {
                throw APIError(.unprocessable, "creator_stays_admin", "the creator must remain an admin")
            }
            guard try await members.adminCount(of: token.id) > 1 else {
                throw APIError(.unprocessable, "last_admin", "the last admin cannot be removed; appoint another first")
            }
            _ = try await members.set(admin: false, user.user, in: token.id)
        }
    }

    private func add(
        _ user: User.ID,
        to token: ConversationToken,
        _ membership: MembershipStatus,
        liftsKick: Bool,
        on db: PostgresTransaction
    ) async throws {
        guard membership.memberCount < conversations.maximumMembers else { throw Conversations.full }
        let members = MemberStore(db: db)
        try await members.ensureUsers([user.user], of: user.application)
        try await members.add(user, to: token.id, liftsKick: liftsKick)
        // In a group that all members had left, the first user to join becomes an admin.
        try await members.ensureAdmin(in: token.id)
        try await HeadStore(db: db).append(.joined(user.user), to: token.id)
        try await MemberJoinStore(db: db).insert([user.user], of: user.application, in: token.id)
    }

    /// Returns the named user of the admin's application; throws `notFound` for an id that cannot exist.
    private static func user(_ name: String, inApplicationOf admin: User.ID) throws -> User.ID {
        guard let name = KnownUsers.canonicalID(name, in: admin.application) else { throw notFound }
        return User.ID(application: admin.application, user: name)
    }

    private static let joinNotAllowed = APIError(
        .forbidden,
        "join_not_allowed",
        "this conversation does not allow you to join"
    )
    private static let hasLeft = APIError(
        .forbidden,
        "member_left",
        "the user left this conversation; only the user can join it again"
    )
    private static let notFound = APIError(.notFound, "member_not_found", "there is no such member")
}
