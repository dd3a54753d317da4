import Foundation
package import ServiceClient

/// Where keys and revocations come from: auth, over HTTP; in auth itself, its own tables.
package protocol CredentialSource: Sendable {
    func keyDocument() async throws -> KeyDocument

    /// Revocations since `after`, all that still matter without it; waits up to 5 s for one.
    func revocations(after: Int64?) async throws -> RevocationPage

    /// The sessions whose tokens have these hashes, at most `KnownSessions.maximum`; some may have expired.
    func sessions(of hashes: [String]) async throws -> [KnownSession]

    /// Those keys of applications that count, by their names, at most `KnownApplicationKeys.maximum`.
    func applicationKeys(_ names: [String]) async throws -> [KnownApplicationKey]
}

/// Auth, seen from a neighbour.
package struct HTTPCredentialSource: CredentialSource {
    private let auth: ServiceClient

    package init(auth: ServiceClient) {
        self.auth = auth
    }

    package func keyDocument() async throws -> KeyDocument {
        try await auth.get("/.well-known/jwks.json", timeout: .seconds(2))
    }

    package func revocations(after: Int64?) async throws -> RevocationPage {
        // Six seconds of silence are one too many: auth answers within five.
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
