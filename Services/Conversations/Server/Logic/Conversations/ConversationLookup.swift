import ConversationsAPI
import Locks
import Postgres
import Wire

/// The lookup of conversations by their ids, which diuit's clients use.
///
/// An id grants no access. All rules require the token and membership. The token found here stays between these rules
/// and the database. Only joining needs a right to know the token, so `Members.join` has a separate rule for ids.
struct ConversationLookup: Sendable {
    let database: PostgresPool
    private let cache = TokenCache()

    init(database: PostgresPool) {
        self.database = database
    }

    /// Runs `body` with the conversation's token, which is cached.
    func withToken<Value>(
        _ id: Conversation.ID,
        of user: User.ID,
        _ body: (ConversationToken) async throws -> Value
    ) async throws -> Value {
        guard let token = cache[id, user.application] else { return try await body(find(id, of: user)) }
        do {
            return try await body(token)
        } catch let error as APIError where error == Conversations.notFound {
            // `body` did nothing; the token may have been renewed since it was cached.
            let renewed = try await find(id, of: user)
            guard renewed != token else { throw error }
            return try await body(renewed)
        }
    }

    private func find(_ id: Conversation.ID, of user: User.ID) async throws -> ConversationToken {
        let secret = try await ConversationStore(db: database.reads).secret(of: id, in: user.application)
        guard let secret else { throw Conversations.notFound }
        let token = ConversationToken(id: id, secret: secret)
        cache[id, user.application] = token
        return token
    }
}

/// A cache of tokens by id, which drops its older half when it grows too large.
private final class TokenCache: Sendable {
    private struct Key: Hashable {
        let id: Conversation.ID
        let application: String
    }

    private struct State {
        var recent: [Key: ConversationToken] = [:]
        var older: [Key: ConversationToken] = [:]
    }

    private static let capacity = 50_000
    private let state = Lock(State())

    subscript(id: Conversation.ID, application: String) -> ConversationToken? {
        get {
            let key = Key(id: id, application: application)
            return state.withLock { $0.recent[key] ?? $0.older[key] }
        }
        set {
            state.withLock { state in
                state.recent[Key(id: id, application: application)] = newValue
                guard state.recent.count > Self.capacity else { return }
                state.older = state.recent
                state.recent = [:]
            }
        }
    }
}
