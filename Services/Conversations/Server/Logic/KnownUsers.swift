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
        var spelled: [String] = []
        for user in users {
            let user = try Self.spelling(DraftRules.userID(user, field: field), in: application)
            guard let user else { throw Self.unknown(field) }
            if seen.insert(User.ID(application: application, user: user)).inserted { spelled.append(user) }
        }
        guard application == RoostApplication.id else { return spelled }
        let new = cache.missing(among: spelled)
        if !new.isEmpty {
            guard try await auth.unknown(among: new).isEmpty else { throw Self.unknown(field) }
            cache.insert(new)
        }
        return spelled
    }

    /// An id as it is written here: Roost's are UUIDs in lower case, a customer's are as they are; nil for what is none.
    static func spelling(_ user: String, in application: String) -> String? {
        guard application == RoostApplication.id else { return user }
        return UUID(uuidString: user)?.uuidString.lowercased()
    }

    private static func unknown(_ field: String) -> APIError {
        .invalid(field, "\"\(field)\" names a user who does not exist", code: "unknown_user")
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
