import ConversationsAPI
import Postgres
import Wire

/// Direct conversations: they have exactly two members, one conversation per pair, and no admins.
extension Conversations {
    /// Returns the pair's conversation and creates it if necessary; repeated calls by either user return the same one.
    func openDirect(_ draft: ConversationDraft, by user: User.ID) async throws -> Conversation {
        guard draft.whiteList == nil else { throw Self.groupsOnly("whiteList") }
        guard draft.joinByToken != true else { throw Self.groupsOnly("joinByToken") }
        let label = try DraftRules.optionalLabel(draft.label)
        let meta = try DraftRules.meta(draft.meta)
        let others = try await requireUsers(draft.members, of: user, field: "members").filter { $0 != user.user }
        guard others.count == 1, let other = others.first else {
            throw APIError.invalid("members", "a direct conversation needs exactly one other member")
        }
        let pair = Pair(user, other)
        let reads = database.reads
        if let token = try await DirectStore(db: reads).conversation(of: pair),
            let existing = try await ConversationStore(db: reads).view(token, for: user)
        {
            return existing
        }
        let new = NewConversation(
            creator: user,
            secret: ConversationToken.newSecret(),
            type: .direct,
            label: label,
            meta: meta,
            whiteList: [],
            joinByToken: false,
            members: [user.user, other]
        )
        let opened = try await database.transaction { db in
            try await DirectStore(db: db).lock(pair)
            var token = try await DirectStore(db: db).conversation(of: pair)
            if token == nil { token = try await insert(new, of: pair, with: other, on: db) }
            guard let token else { throw Self.notFound }
            return try await visible(ConversationStore(db: db).view(token, for: user))
        }
        changeNotifier?.memberJoined(in: opened.id)
        return opened
    }

    private func insert(
        _ new: NewConversation,
        of pair: Pair,
        with other: String,
        on db: PostgresTransaction
    ) async throws -> ConversationToken {
        let blocks = BlockStore(db: db)
        let otherID = User.ID(application: new.creator.application, user: other)
        guard try await blocks.find(new.creator.user, by: otherID) == nil else { throw Self.blocked }
        try await MemberStore(db: db).ensureUsers(new.members, of: new.creator.application)
        let token = try await ConversationStore(db: db).insert(new)
        try await DirectStore(db: db).insert(token.id, of: pair)
        try await MemberJoinStore(db: db).insert(new.members, of: new.creator.application, in: token.id)
        if try await blocks.find(other, by: new.creator) != nil {
            try await MemberStore(db: db).set(blocked: true, other, in: token.id)
        }
        return token
    }

    static let groupRequired = APIError(
        .unprocessable,
        "group_required",
        "not available in direct conversations: they have fixed members and no admins"
    )
    static let blocked = APIError(.forbidden, "blocked", "the other user has blocked you")

    private static func groupsOnly(_ field: String) -> APIError {
        .invalid(field, "\"\(field)\" is allowed only for groups", code: "group_required")
    }
}
