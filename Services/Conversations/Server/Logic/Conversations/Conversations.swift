import ConversationsAPI
import Foundation
import Postgres
import ServiceHost
import Wire

/// The rules of conversations: who makes, sees, renames and enters them.
struct Conversations: Sendable {
    let database: PostgresPool
    let users: KnownUsers
    let cursors: CursorSigner
    let links: FileLinks
    /// Nil: conversations are shown without profiles.
    var profiles: MemberProfiles?
    var events = EventOutbox.none
    let maximumMembers: Int
    /// Tells the instances what changed; nil where nobody is to be told.
    var changeNotifier: ChangeNotifier?

    /// A group has a name unless it `mayBeUnnamed`, as diuit's may.
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
        // Left out: nobody by id, everybody by token.
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
        // Who may not do it is told so before anything is said about the users he named.
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

    /// Whether `user` is notified of messages here.
    func setPush(_ isEnabled: Bool, in token: ConversationToken, for user: User.ID) async throws -> Conversation {
        try await change(token, by: user) { db, _ in
            try await MemberStore(db: db).set(pushEnabled: isEnabled, user.user, in: token.id)
        }
    }

    static let notFound = APIError(.notFound, "conversation_not_found", "there is no such conversation")
    static let full = APIError(.unprocessable, "too_many_members", "the conversation has no room for more members")

    /// Adds the names and pictures of the members; never in a transaction, since auth may be asked.
    func withProfiles(_ conversation: Conversation, for user: User.ID) async -> Conversation {
        await profiles?.adding(to: conversation, of: user.application) ?? conversation
    }

    /// As it goes out; not found for who does not see it.
    func visible(_ conversation: Conversation?) throws -> Conversation {
        guard let conversation else { throw Self.notFound }
        return links.signed(conversation)
    }
}

// What changes a conversation, here and in `Members`.
extension Conversations {
    /// Runs `body` under the conversation's lock for a member of it, and answers with the conversation as it is then.
    ///
    /// - Throws: `notFound` for who is no member, `unprocessable` for what is done in groups alone, `forbidden` for who
    ///   is no admin where one is asked for.
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

    /// Takes the conversation's lock, then reads what decides; it stays true until the transaction ends.
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

    /// A look ahead, without a lock: so that who may not do something learns nothing else.
    func requireAdmin(_ token: ConversationToken, _ user: User.ID) async throws {
        let membership = try await ConversationStore(db: database.reads).membership(token, of: user)
        guard let membership, let isAdmin = membership.isAdmin else { throw Self.notFound }
        guard !membership.isDirect else { throw Self.groupRequired }
        guard isAdmin else { throw Self.adminRequired }
    }

    /// - Throws: `blocked` where `user` has blocked one of the others, or one of them has blocked `user`.
    func requireNoBlock(between user: User.ID, and others: [String], on db: PostgresTransaction) async throws {
        guard try await BlockStore(db: db).blockedPeers(from: user, among: others).isEmpty else {
            throw APIError(.forbidden, Self.blocked.code, "no user is added across a block")
        }
    }

    /// As many as one request may name, all of them somebody's.
    func requireUsers(_ named: [String], of user: User.ID, field: String) async throws -> [String] {
        guard named.count <= DraftRules.maximumNamed else {
            throw APIError.invalid(field, "\"\(field)\" may name \(DraftRules.maximumNamed) users", code: "too_many")
        }
        return try await users.require(named, of: user.application, field: field)
    }

    private func requireUsers(_ whiteList: WhiteList, of user: User.ID) async throws -> [String]? {
        guard let named = whiteList.users else { return nil }
        let known = try await requireUsers(named, of: user, field: "whiteList")
        try DraftRules.whiteListSize(known)
        return known
    }

    static let adminRequired = APIError(.forbidden, "admin_required", "only an admin of the conversation may do this")
}
