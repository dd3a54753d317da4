import AuthAPI
import Foundation
import Locks
import Wire

/// The check that the userIds named in a request exist.
///
/// In a customer's application every id is valid. Ids of Roost's own accounts are checked with auth, before any
/// transaction begins.
struct KnownUsers: Sendable {
    let auth: AuthClient
    private let cache = AccountCache()

    init(auth: AuthClient) {
        self.auth = auth
    }

    /// Returns the canonical ids in their order, without duplicates.
    ///
    /// - Throws: `invalid` with `field` for an id that does not exist; `unavailable` while auth is unavailable.
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

    /// Returns the canonical id: a UUID in lower case for Roost's own users, unchanged for a customer's; nil for an
    /// invalid UUID.
    static func canonicalID(_ user: String, in application: String) -> String? {
        guard application == RoostApplication.id else { return user }
        return UUID(uuidString: user)?.uuidString.lowercased()
    }

    /// The maximum number of unknown users that an error lists.
    private static let named = 5

    private static func unknown(_ users: [String], _ field: String) -> APIError {
        let list = users.prefix(named).map { "\"\($0)\"" }.joined(separator: ", ")
        let more = users.count > named ? " and \(users.count - named) more" : ""
        let noun = users.count == 1 ? "a user that does not exist" : "users that do not exist"
        return .invalid(field, "\"\(field)\" has \(noun): \(list)\(more)", code: "user_not_found")
    }
}

/// A cache of accounts that auth has confirmed, which drops its older half when it grows too large.
private final class AccountCache: Sendable {
    private struct State {
        var recent: Set<String> = []
        var older: Set<String> = []
    }

    private static let capacity = 10_000
    private let state = Lock(State())

    func missing(among users: [String]) -> [String] {
        state.withLock { state in users.filter { !state.recent.contains($0) && !state.older.contains($0) } }
    }

    func insert(_ users: [String]) {
        state.withLock { state in
            state.recent.formUnion(users)
            guard state.recent.count > Self.capacity else { return }
            state.older = state.recent
            state.recent = []
        }
    }
}
