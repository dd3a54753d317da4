import ServiceClient
package import Wire

/// The operator's requests to auth; auth accepts them only from `roost`.
///
/// An account is identified by its id, its username or its verified e-mail address.
extension AuthClient {
    /// Returns the accounts whose username or verified address starts with `prefix`, in the order of these names.
    ///
    /// `after` is the `next` of the previous page.
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

    /// Ends all sessions of the account and blocks sign-in.
    package func disable(_ name: String) async throws -> Done {
        try await service.post("\(path(name))/disable", [String: String]())
    }

    package func enable(_ name: String) async throws -> Done {
        try await service.post("\(path(name))/enable", [String: String]())
    }

    /// Deletes the account, as its owner can.
    package func deleteAccount(_ name: String) async throws -> Done {
        try await service.delete(path(name))
    }

    /// Returns the account's sessions, newest first, at most 100.
    package func sessions(of name: String) async throws -> [Session] {
        try await service.get("\(path(name))/sessions", as: Page<Session>.self).items
    }

    /// Ends the given session of the account, or all its sessions.
    package func endSessions(of name: String, session: String? = nil) async throws -> Done {
        try await service.delete(
            "\(path(name))/sessions" + (session.map { "/\(ServiceClient.percentEncoded($0))" } ?? "")
        )
    }

    /// Returns the security events of the account, newest first.
    package func audit(of name: String, cursor: String? = nil, limit: Int = 100) async throws -> Page<SecurityEvent> {
        let query = [("limit", "\(limit)")] + (cursor.map { [("cursor", $0)] } ?? [])
        return try await service.get("\(path(name))/audit", query: query)
    }

    /// Returns the account deletions that have waited longest for a service's confirmation, at most 100.
    package func deletions() async throws -> [PendingDeletion] {
        try await service.get("/internal/deletions", as: Page<PendingDeletion>.self).items
    }

    package func keys() async throws -> KeyRotation {
        try await service.get("/internal/keys")
    }

    /// Returns customers' applications, newest first.
    package func applications(cursor: String? = nil) async throws -> Page<CustomerApplication> {
        try await service.get("/internal/applications", query: cursor.map { [("cursor", $0)] } ?? [])
    }

    private func path(_ name: String) -> String { "/internal/accounts/\(ServiceClient.percentEncoded(name))" }
}
