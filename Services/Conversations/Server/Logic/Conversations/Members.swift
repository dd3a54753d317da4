import ConversationsAPI
import Postgres
import Wire

/// The rules of membership: who comes in, who goes, who decides.
///
/// Each takes the head's lock first, as every message does; so nothing that the one who goes was sending gets in after.
struct Members: Sendable {
    let conversations: Conversations

    /// By the token: whom the white list admits, and where the token itself does, everybody but who was kicked.
    ///
    /// Who knows no more than the id (`byID`) comes in by the white list alone, and where it does not admit him he is not
    /// told that there is a conversation: ids can be guessed.
    func join(_ token: ConversationToken, _ user: User.ID, byID: Bool = false) async throws -> Conversation {
        let joined = try await conversations.database.transaction { db in
            let membership = try await conversations.membership(token, of: user, on: db)
            if membership.isAdmin == nil {
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

    /// - Throws: `blocked` where one of the two has blocked the other; `member_left` for a user who left by themselves.
    func add(_ named: String, to token: ConversationToken, by admin: User.ID) async throws -> Conversation {
        // Who may not do it is told so before anything is said about the user he named.
        try await conversations.requireAdmin(token, admin)
        let known = try await conversations.requireUsers([named], of: admin, field: "userId")
        let changed = try await conversations.change(token, by: admin, asAdmin: true) { db, membership in
            for name in known where try await MemberStore(db: db).isAdmin(name, in: token.id) == nil {
                let user = User.ID(application: admin.application, user: name)
                try await conversations.requireNoBlock(between: admin, and: [name], on: db)
                guard try await !MemberStore(db: db).hasLeft(name, token.id) else { throw Self.hasLeft }
                try await add(user, to: token, membership, liftsKick: true, on: db)
            }
        }
        conversations.changeNotifier?.memberJoined(in: token.id)
        return changed
    }

    func kick(_ named: String, from token: ConversationToken, by admin: User.ID) async throws -> Conversation {
        let name = try DraftRules.userID(named, field: "userId")
        return try await conversations.change(token, by: admin, asAdmin: true) { db, membership in
            let user = try Self.user(name, inApplicationOf: admin)
            guard user != admin else {
                throw APIError(.forbidden, "cannot_kick_self", "nobody kicks himself; leave instead")
            }
            guard !user.user.isExactly(membership.creator) else {
                throw APIError(.forbidden, "cannot_kick_creator", "nobody kicks the creator")
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
                throw APIError(.unprocessable, "creator_stays_admin", "the creator stays an admin")
            }
            guard try await members.adminCount(of: token.id) > 1 else {
                throw APIError(.unprocessable, "last_admin", "the last admin stays; appoint another first")
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
        // Where all had left, who comes first decides.
        try await members.ensureAdmin(in: token.id)
        try await HeadStore(db: db).append(.joined(user.user), to: token.id)
        try await MemberJoinStore(db: db).insert([user.user], of: user.application, in: token.id)
    }

    /// The one named, in the same application; what cannot be a user's id is no member's either.
    private static func user(_ name: String, inApplicationOf admin: User.ID) throws -> User.ID {
        guard let name = KnownUsers.canonicalID(name, in: admin.application) else { throw notFound }
        return User.ID(application: admin.application, user: name)
    }

    private static let joinNotAllowed = APIError(
        .forbidden,
        "join_not_allowed",
        "this conversation does not let you in"
    )
    private static let hasLeft = APIError(
        .forbidden,
        "member_left",
        "the user left this conversation; only the user can join it again"
    )
    private static let notFound = APIError(.notFound, "member_not_found", "there is no such member")
}
