import AuthAPI
import Foundation
import Locks
import Wire

/// Tells whether userIds that a request names are somebody's.
///
/// In a customer's application anybody may be; Roost's own accounts are asked of auth, before any transaction begins.
struct KnownUsers: Sendable {
    let auth: AuthClient
    private let cache = KnownAccounts()

    init(auth: AuthClient) {
        self.auth = auth
    }

    /// The ids as they are written here, in their order, each once.
    ///
    /// - Throws: `invalid`, naming `field`, for one that is nobody's; `unavailable` while auth is away.
    func require(_ users: [String], of application: String, field: String) async throws -> [String] {
        var seen: Set<User.ID> = []
        var canonical: [String] = []
        for requested in users {
            let user = try Self.canonicalID(DraftRules.userID(requested, field: field), in: application)
            guard let user else { throw Self.unknown([requested], field) }
            if seen.insert(User.ID(application: application, user: user)).inserted { canonical.append(user) }
        }
        guard application == RoostApplication.id else { return canonical }
        let new = cache.missing(among: canonical)
        if !new.isEmpty {
            let unknown = try await auth.unknown(among: new)
            guard unknown.isEmpty else { throw Self.unknown(new.filter(unknown.contains), field) }
            cache.insert(new)
        }
        return canonical
    }

    /// An id as it is written here: Roost's are UUIDs in lower case, a customer's are as they are; nil for what is none.
    static func canonicalID(_ user: String, in application: String) -> String? {
        guard application == RoostApplication.id else { return user }
        return UUID(uuidString: user)?.uuidString.lowercased()
    }

    /// So many unknown users are named in an error.
    private static let named = 5

    private static func unknown(_ users: [String], _ field: String) -> APIError {
        let list = users.prefix(named).map { "\"\($0)\"" }.joined(separator: ", ")
        let more = users.count > named ? " and \(users.count - named) more" : ""
        let noun = users.count == 1 ? "a user that does not exist" : "users that do not exist"
        return .invalid(field, "\"\(field)\" has \(noun): \(list)\(more)", code: "user_not_found")
    }
}

/// Accounts that auth has confirmed; the older half is forgotten when it grows too large.
private final class KnownAccounts: Sendable {
    private struct State {
        var young: Set<String> = []
        var old: Set<String> = []
    }

    private static let capacity = 10_000
    private let state = Lock(State())

    func missing(among users: [String]) -> [String] {
        state.withLock { state in users.filter { !state.young.contains($0) && !state.old.contains($0) } }
    }

    func insert(_ users: [String]) {
        state.withLock { state in
            state.young.formUnion(users)
            guard state.young.count > Self.capacity else { return }
            state.old = state.young
            state.young = []
        }
    }
}
