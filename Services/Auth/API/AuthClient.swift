package import ServiceClient
import Wire

/// The internal API of auth for accounts, signing keys, administrators and push credentials.
///
/// Services that only verify credentials use `CredentialVerifier`, which follows keys and revocations by itself.
package struct AuthClient: Sendable {
    /// The most ids per request; `users(_:)` sends as many requests as needed.
    package static let maximumUsers = 100

    let service: ServiceClient

    package init(_ service: ServiceClient) {
        self.service = service
    }

    /// Returns those of `ids` that are accounts of Roost's own application, anonymous accounts included, in no order.
    ///
    /// An id that is not a UUID is treated as not found.
    package func users(_ ids: some Collection<String>) async throws -> [UserSummary] {
        try await users(ids, of: RoostApplication.id)
    }

    /// Returns those of `ids` that are users of the application, in no order.
    ///
    /// Users of a customer's application are found while they have a session. Auth does not store their names.
    package func users(_ ids: some Collection<String>, of application: String) async throws -> [UserSummary] {
        var found: [UserSummary] = []
        // Customers' ids are compared as bytes: two Unicode spellings of one character are two users, but equal Swift
        // strings.
        let unique = Set(ids.map { User.ID(application: application, user: $0) })
        var rest = unique.map(\.user).sorted()[...]
        // Auth of the previous release supports only Roost's own application and rejects the parameter.
        let scope = application == RoostApplication.id ? [] : [("application", application)]
        while !rest.isEmpty {
            let query = scope + rest.prefix(Self.maximumUsers).map { ("userId", $0) }
            rest = rest.dropFirst(Self.maximumUsers)
            found += try await service.get("/internal/users", query: query, as: Page<UserSummary>.self).items
        }
        return found
    }

    /// Returns those of `ids` that belong to no account of Roost's own application.
    package func unknown(among ids: some Collection<String>) async throws -> Set<String> {
        Set(ids).subtracting(try await users(ids).map(\.userId))
    }

    /// Returns whether a token is active, and its user.
    ///
    /// This is for services without a `CredentialVerifier`, which verifies tokens without a request to auth.
    package func status(of token: String) async throws -> TokenStatus {
        try await service.post("/oauth/introspect", PresentedToken(token: token))
    }

    /// Returns the credentials for sending an application's notifications to push providers; only `push` may call it.
    ///
    /// The result is empty for an unknown application and for an application without credentials.
    package func pushCredentials(of application: String) async throws -> PushCredentials {
        try await service.get("/internal/applications/\(ServiceClient.percentEncoded(application))/push")
    }

    /// Makes the standby key the signing key and creates a new standby key; only `roost` may call it.
    package func rotateKeys() async throws -> KeyRotation {
        try await service.post("/internal/keys/rotate", [String: String]())
    }

    /// Grants administrator rights, which appear in tokens from the user's next sign-in or refresh; only `roost` may
    /// call it.
    package func grantAdministration(to username: String) async throws -> Administrator {
        try await service.post("/internal/administrators/grant", AdministratorName(username: username))
    }

    /// Revokes the user's administrator rights and ends all their sessions.
    package func revokeAdministration(of username: String) async throws -> Done {
        try await service.post("/internal/administrators/revoke", AdministratorName(username: username))
    }

    package func administrators() async throws -> [Administrator] {
        try await service.get("/internal/administrators", as: Page<Administrator>.self).items
    }
}
