import ServiceClient
package import Wire

/// What the operator's command asks of auth; only `roost` may.
///
/// An account is named by its id, its username or its verified e-mail address.
extension AuthClient {
    /// Those whose username or verified address begins so, in the order of these names; those behind `next` of a page before.
    package func accounts(
        named prefix: String,
        after: String? = nil,
        limit: Int = 100
    ) async throws -> Page<AccountReport> {
        let query = [("name", prefix), ("limit", "\(limit)")] + (after.map { [("after", $0)] } ?? [])
        return try await service.get("/internal/accounts", query: query)
    }

    package func account(_ name: String) async throws -> AccountReport {
        try await service.get(path(name))
    }

    /// Signs somebody out everywhere, and lets him in no more.
    package func disable(_ name: String) async throws -> Done {
        try await service.post("\(path(name))/disable", [String: String]())
    }

    package func enable(_ name: String) async throws -> Done {
        try await service.post("\(path(name))/enable", [String: String]())
    }

    /// As if its owner had deleted it.
    package func deleteAccount(_ name: String) async throws -> Done {
        try await service.delete(path(name))
    }

    /// The devices that somebody is signed in on, the newest first, at most a hundred.
    package func sessions(of name: String) async throws -> [Session] {
        try await service.get("\(path(name))/sessions", as: Page<Session>.self).items
    }

    /// Ends one session of somebody's, or all.
    package func endSessions(of name: String, session: String? = nil) async throws -> Done {
        try await service.delete(
            "\(path(name))/sessions" + (session.map { "/\(ServiceClient.percentEncoded($0))" } ?? "")
        )
    }

    /// What happened to an account, the newest first.
    package func audit(of name: String, cursor: String? = nil, limit: Int = 100) async throws -> Page<SecurityEvent> {
        let query = [("limit", "\(limit)")] + (cursor.map { [("cursor", $0)] } ?? [])
        return try await service.get("\(path(name))/audit", query: query)
    }

    /// The departures that wait longest for a service's answer, at most a hundred.
    package func deletions() async throws -> [PendingDeletion] {
        try await service.get("/internal/deletions", as: Page<PendingDeletion>.self).items
    }

    /// How the signing keys stand.
    package func keys() async throws -> KeyRotation {
        try await service.get("/internal/keys")
    }

    /// Customers' applications, the newest first.
    package func applications(cursor: String? = nil) async throws -> Page<CustomerApplication> {
        try await service.get("/internal/applications", query: cursor.map { [("cursor", $0)] } ?? [])
    }

    private func path(_ name: String) -> String { "/internal/accounts/\(ServiceClient.percentEncoded(name))" }
}
