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

    /// Returns the canonical ids of the users in a list, in their order and without duplicates.
    ///
    /// - Throws: `invalid` with the element of `field` for a malformed id, and with `field` for an id that does not exist;
    ///   `unavailable` while auth is unavailable.
    func require(_ users: [String], of application: String, field: String) async throws -> [String] {
        var seen: Set<User.ID> = []
        var canonical: [String] = []
        for (index, requested) in users.enumerated() {
            let user = try Self.canonicalID(requested, of: application, element: "\(field)[\(index)]", field: field)
            if seen.insert(User.ID(application: application, user: user)).inserted { canonical.append(user) }
        }
        try await requireExisting(canonical, of: application, field: field)
        return canonical
    }

    /// Returns the canonical id of one user.
    ///
    /// - Throws: `invalid` with `field` for an id that is malformed or does not exist; `unavailable` while auth is
    ///   unavailable.
    func require(_ user: String, of application: String, field: String) async throws -> String {
        let canonical = try Self.canonicalID(user, of: application, element: field, field: field)
        try await requireExisting([canonical], of: application, field: field)
        return canonical
    }

    private func requireExisting(_ users: [String], of application: String, field: String) async throws {
        guard application == RoostApplication.id else { return }
        let new = cache.missing(among: users)
        guard !new.isEmpty else { return }
        let unknown = try await auth.unknown(among: new)
        guard unknown.isEmpty else { throw Self.unknown(new.filter(unknown.contains), field) }
        cache.insert(new)
    }

    private static func canonicalID(
        _ requested: String,
        of application: String,
        element: String,
        field: String
    ) throws -> String {
        let user = try canonicalID(DraftRules.userID(requested, field: element), in: application)
        guard let user else { throw unknown([requested], field) }
        return user
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
