import ConversationsAPI
import Locks
import Postgres
import Wire

/// Finds conversations by their ids, as diuit's clients name them.
///
/// An id opens nothing. All rules go by the token and ask for a member besides; here a token is found for them, and stays
/// between them and the database. Only who comes in by himself needs a right to know it, so `Members.join` has a rule of
/// its own for ids.
struct ConversationLookup: Sendable {
    let database: PostgresPool
    private let known = KnownTokens()

    init(database: PostgresPool) {
        self.database = database
    }

    /// Runs `body` with the conversation's token, which is not there to be asked for each time.
    func withToken<Value>(
        _ id: Conversation.ID,
        of user: User.ID,
        _ body: (ConversationToken) async throws -> Value
    ) async throws -> Value {
        guard let token = known[id, user.application] else { return try await body(find(id, of: user)) }
        do {
            return try await body(token)
        } catch let error as APIError where error == Conversations.notFound {
            // Nothing was done; the token may have been renewed since.
            let renewed = try await find(id, of: user)
            guard renewed != token else { throw error }
            return try await body(renewed)
        }
    }

    private func find(_ id: Conversation.ID, of user: User.ID) async throws -> ConversationToken {
        let secret = try await ConversationStore(db: database.reads).secret(of: id, in: user.application)
        guard let secret else { throw Conversations.notFound }
        let token = ConversationToken(id: id, secret: secret)
        known[id, user.application] = token
        return token
    }
}

/// Tokens by id; the older half is forgotten when it grows too large.
private final class KnownTokens: Sendable {
    private struct Key: Hashable {
        let id: Conversation.ID
        let application: String
    }

    private struct State {
        var young: [Key: ConversationToken] = [:]
        var old: [Key: ConversationToken] = [:]
    }

    private static let capacity = 50_000
    private let state = Lock(State())

    subscript(id: Conversation.ID, application: String) -> ConversationToken? {
        get {
            let key = Key(id: id, application: application)
            return state.withLock { $0.young[key] ?? $0.old[key] }
        }
        set {
            state.withLock { state in
                state.young[Key(id: id, application: application)] = newValue
                guard state.young.count > Self.capacity else { return }
                state.old = state.young
                state.young = [:]
            }
        }
    }
}
