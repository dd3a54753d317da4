import ConversationsAPI
import Foundation
import Postgres
import ServiceHost
import Wire

/// The rules of conversations: creating, showing, listing and changing them.
struct Conversations: Sendable {
    let database: PostgresPool
    let users: KnownUsers
    let cursors: CursorSigner
    let links: FileLinks
    /// Nil shows conversations without profiles.
    var profiles: MemberProfiles?
    var events = EventOutbox.none
    let maximumMembers: Int
    /// Notifies the instances of changes; nil when no instance needs notifications.
    var changeNotifier: ChangeNotifier?

    /// Creates a conversation; a group needs a label unless it `mayBeUnnamed`, as diuit's clients allow.
    func create(
        _ draft: ConversationDraft,
        by creator: User.ID,
        mayBeUnnamed: Bool = false
    ) async throws -> Conversation {
        switch draft.type.map(Conversation.Kind.init) {
        case nil, .some(.group): break
        case .some(.direct): return await withProfiles(try await openDirect(draft, by: creator), for: creator)
        case .some(nil): throw APIError.invalid("type", "\"type\" must be group or direct")
        }
        let label = try mayBeUnnamed ? DraftRules.optionalLabel(draft.label) : DraftRules.label(draft.label ?? "")
        let meta = try DraftRules.meta(draft.meta)
        let members = try await requireUsers(draft.members, of: creator, field: "members").filter { $0 != creator.user }
        guard members.count < maximumMembers else { throw Self.full }
        // An absent white list admits no user by id and every user by token.
        let whiteList = try await requireUsers(draft.whiteList ?? .only([]), of: creator)
        let new = NewConversation(
            creator: creator,
            secret: ConversationToken.newSecret(),
            type: .group,
            label: label,
            meta: meta,
            whiteList: whiteList,
            joinByToken: draft.joinByToken ?? (draft.whiteList == nil),
            members: [creator.user] + members
        )
        let made = try await database.transaction { db in
            try await requireNoBlock(between: creator, and: members, on: db)
            try await MemberStore(db: db).ensureUsers(new.members, of: creator.application)
            let store = ConversationStore(db: db)
            let token = try await store.insert(new)
            try await MemberJoinStore(db: db).insert(new.members, of: creator.application, in: token.id)
            return try await IdempotentRequest.keep(visible(store.view(token, for: creator)), in: db)
        }
        changeNotifier?.memberJoined(in: made.id)
        return await withProfiles(made, for: creator)
    }

    func list(
        of user: User.ID,
        type: Conversation.Kind? = nil,
        limit: Int,
        cursor: String?
    ) async throws -> Page<Conversation> {
        let list = (["conversations"] + (type.map { [$0.rawValue] } ?? [])).joined(separator: " ")
        let position = try cursor.map { try cursors.position($0, of: list, for: user, as: ConversationCursor.self) }
        let store = ConversationStore(db: database.reads)
        let found = try await store.page(of: user, type: type, after: position, limit: limit + 1)
        let page = found.prefix(limit)
        var next: String?
        if found.count > limit, let last = page.last {
            next = try cursors.sign(ConversationCursor(after: page, last: last, of: position), of: list, for: user)
        }
        let conversations = page.map { links.signed($0.conversation) }
        return Page(await profiles?.adding(to: conversations, of: user.application) ?? conversations, next: next)
    }

    func show(_ token: ConversationToken, to user: User.ID) async throws -> Conversation {
        let conversation = try await visible(ConversationStore(db: database.reads).view(token, for: user))
        return await withProfiles(conversation, for: user)
    }

    func rename(_ token: ConversationToken, to label: String, by user: User.ID) async throws -> Conversation {
        let label = try DraftRules.label(label)
        return try await change(token, by: user) { db, membership in
            guard !membership.isBlocked else { throw Self.blocked }
            try await ConversationStore(db: db).set(label: label, of: token.id)
        }
    }

    func replaceMeta(_ token: ConversationToken, with meta: JSONValue, by user: User.ID) async throws -> Conversation {
        let compact = try DraftRules.meta(meta)
        return try await change(token, by: user) { db, membership in
            guard !membership.isBlocked else { throw Self.blocked }
            try await ConversationStore(db: db).set(meta: compact, of: token.id)
            try await HeadStore(db: db).append(.metaUpdated(meta), to: token.id)
        }
    }

    func replaceWhiteList(
        _ token: ConversationToken,
        with whiteList: WhiteList,
        by user: User.ID
    ) async throws -> Conversation {
        // Users without admin rights receive this error before any error about the named users.
        try await requireAdmin(token, user)
        let whiteList = try await requireUsers(whiteList, of: user)
        return try await change(token, by: user, asAdmin: true) { db, _ in
            try await ConversationStore(db: db).set(whiteList: whiteList, of: token.id)
            try await HeadStore(db: db).append(.whiteListUpdated(whiteList), to: token.id)
        }
    }

    func renewToken(_ token: ConversationToken, by user: User.ID) async throws -> Conversation {
        let renewed = ConversationToken(id: token.id, secret: ConversationToken.newSecret())
        return try await change(token, by: user, asAdmin: true, viewedBy: renewed) { db, _ in
            try await ConversationStore(db: db).set(secret: renewed.secret, of: token.id)
        }
    }

    /// Sets whether `user` receives notifications of messages here.
    func setPush(_ isEnabled: Bool, in token: ConversationToken, for user: User.ID) async throws -> Conversation {
        try await change(token, by: user) { db, _ in
            try await MemberStore(db: db).set(pushEnabled: isEnabled, user.user, in: token.id)
        }
    }

    static let notFound = APIError(.notFound, "conversation_not_found", "there is no such conversation")
    static let full = APIError(.unprocessable, "too_many_members", "the conversation has the maximum number of members")

    /// Adds the names and pictures of the members; never in a transaction, because it may call auth.
    func withProfiles(_ conversation: Conversation, for user: User.ID) async -> Conversation {
        await profiles?.adding(to: conversation, of: user.application) ?? conversation
    }

    /// Returns the conversation with signed links; throws `notFound` for nil, which the user cannot see.
    func visible(_ conversation: Conversation?) throws -> Conversation {
        guard let conversation else { throw Self.notFound }
        return links.signed(conversation)
    }
}

// Changes to a conversation, used here and in `Members`.
extension Conversations {
    /// Runs `body` under the conversation's lock for a member, and returns the conversation as it is afterwards.
    ///
    /// - Throws: `notFound` for a user outside of the conversation, `unprocessable` for a group operation in a direct
    ///   conversation, `forbidden` for a member without admin rights when `asAdmin` is true.
    func change(
        _ token: ConversationToken,
        by user: User.ID,
        asAdmin: Bool = false,
        inGroup: Bool = false,
        viewedBy renewed: ConversationToken? = nil,
        _ body: (PostgresTransaction, MembershipStatus) async throws -> Void
    ) async throws -> Conversation {
        let changed = try await database.transaction { db in
            let membership = try await membership(token, of: user, on: db)
            guard let isAdmin = membership.isAdmin else { throw Self.notFound }
            guard !membership.isDirect || !(inGroup || asAdmin) else { throw Self.groupRequired }
            guard isAdmin || !asAdmin else { throw Self.adminRequired }
            try await body(db, membership)
            let store = ConversationStore(db: db)
            return try await visible(store.view(renewed ?? token, for: user, evenAsNonMember: true))
        }
        changeNotifier?.changed(token.id)
        return await withProfiles(changed, for: user)
    }

    /// Locks the conversation, then reads the user's membership, which cannot change until the transaction ends.
    func membership(
        _ token: ConversationToken,
        of user: User.ID,
        on db: PostgresTransaction
    ) async throws -> MembershipStatus {
        guard try await HeadStore(db: db).lock(token.id),
            let membership = try await ConversationStore(db: db).membership(token, of: user)
        else { throw Self.notFound }
        return membership
    }

    /// Checks without a lock that the user is an admin, so that other users receive no later error.
    func requireAdmin(_ token: ConversationToken, _ user: User.ID) async throws {
        let membership = try await ConversationStore(db: database.reads).membership(token, of: user)
        guard let membership, let isAdmin = membership.isAdmin else { throw Self.notFound }
        guard !membership.isDirect else { throw Self.groupRequired }
        guard isAdmin else { throw Self.adminRequired }
    }

    /// - Throws: `blocked` when a block in either direction separates `user` from one of `others`.
    func requireNoBlock(between user: User.ID, and others: [String], on db: PostgresTransaction) async throws {
        guard try await BlockStore(db: db).blockedPeers(from: user, among: others).isEmpty else {
            throw APIError(.forbidden, Self.blocked.code, "a user cannot be added across a block")
        }
    }

    /// Returns the canonical ids of the named users, which all exist and are at most as many as one request may name.
    func requireUsers(_ named: [String], of user: User.ID, field: String) async throws -> [String] {
        guard named.count <= DraftRules.maximumNamed else {
            throw APIError.invalid(
                field,
                "\"\(field)\" may name at most \(DraftRules.maximumNamed) users",
                code: "too_many"
            )
        }
        return try await users.require(named, of: user.application, field: field)
    }

    private func requireUsers(_ whiteList: WhiteList, of user: User.ID) async throws -> [String]? {
        guard let named = whiteList.users else { return nil }
        let existing = try await requireUsers(named, of: user, field: "whiteList")
        try DraftRules.whiteListSize(existing)
        return existing
    }

    static let adminRequired = APIError(.forbidden, "admin_required", "only an admin of the conversation may do this")
}
