import Foundation
package import ServiceClient

/// The source of keys and revocations: auth over HTTP, or the database in auth itself.
package protocol CredentialSource: Sendable {
    func keyDocument() async throws -> KeyDocument

    /// Returns the revocations after `after`, or all current ones if it is nil; waits up to 5 s for a new one.
    func revocations(after: Int64?) async throws -> RevocationPage

    /// Returns the sessions with these token hashes, at most `KnownSessions.maximum`; some may have expired.
    func sessions(of hashes: [String]) async throws -> [KnownSession]

    /// Returns the valid application keys with these names, at most `KnownApplicationKeys.maximum`.
    func applicationKeys(_ names: [String]) async throws -> [KnownApplicationKey]
}

/// The source that requests auth over HTTP.
package struct HTTPCredentialSource: CredentialSource {
    private let auth: ServiceClient

    package init(auth: ServiceClient) {
        self.auth = auth
    }

    package func keyDocument() async throws -> KeyDocument {
        try await auth.get("/.well-known/jwks.json", timeout: .seconds(2))
    }

    package func revocations(after: Int64?) async throws -> RevocationPage {
        // Auth responds within 5 s even if there is nothing new.
        try await auth.get(
            "/internal/revocations",
            query: after.map { [("after", String($0))] } ?? [],
            timeout: .seconds(6)
        )
    }

    package func sessions(of hashes: [String]) async throws -> [KnownSession] {
        let query = hashes.map { ("token", $0) }
        return try await auth.get("/internal/sessions", query: query, timeout: .seconds(2), as: KnownSessions.self)
            .sessions
    }

    package func applicationKeys(_ names: [String]) async throws -> [KnownApplicationKey] {
        let query = names.map { ("key", $0) }
        return try await auth.get(
            "/internal/application-keys",
            query: query,
            timeout: .seconds(2),
            as: KnownApplicationKeys.self
        ).keys
    }
}
