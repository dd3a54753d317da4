package import ServiceClient
import Wire

/// Asks auth about accounts, and tells it to change its keys.
///
/// What every service follows by itself, keys and revocations, is the business of `CredentialVerifier`.
package struct AuthClient: Sendable {
    /// The most ids that one request may carry; `users(_:)` makes as many requests as it takes.
    package static let maximumUsers = 100

    let service: ServiceClient

    package init(_ service: ServiceClient) {
        self.service = service
    }

    /// Those of Roost's own accounts that exist, anonymous ones too, in no order.
    ///
    /// A user id that is no UUID is simply not found.
    package func users(_ ids: some Collection<String>) async throws -> [UserSummary] {
        try await users(ids, of: RoostApplication.id)
    }

    /// Returns those of an application's users that auth knows, in no order.
    ///
    /// Users of a customer's application are known while they have a session; auth has no names of theirs.
    package func users(_ ids: some Collection<String>, of application: String) async throws -> [UserSummary] {
        var found: [UserSummary] = []
        // Ids of customers are bytes: two spellings of one character are two users, and equal strings to Swift.
        let unique = Set(ids.map { User.ID(application: application, user: $0) })
        var rest = unique.map(\.user).sorted()[...]
        // Auth of the previous release knows Roost's own application alone, and not the parameter.
        let scope = application == RoostApplication.id ? [] : [("application", application)]
        while !rest.isEmpty {
            let query = scope + rest.prefix(Self.maximumUsers).map { ("userId", $0) }
            rest = rest.dropFirst(Self.maximumUsers)
            found += try await service.get("/internal/users", query: query, as: Page<UserSummary>.self).items
        }
        return found
    }

    /// Which of these are nobody's.
    package func unknown(among ids: some Collection<String>) async throws -> Set<String> {
        Set(ids).subtracting(try await users(ids).map(\.userId))
    }

    /// Whether a token counts, and whose it is.
    ///
    /// Services verify credentials by `CredentialVerifier`, which asks nobody; this is for who has none.
    package func status(of token: String) async throws -> TokenStatus {
        try await service.post("/oauth/introspect", PresentedToken(token: token))
    }

    /// By what an application's notifications are handed to the push services; only `push` may ask.
    ///
    /// Nothing where the application has brought none, and for one that is not known.
    package func pushCredentials(of application: String) async throws -> PushCredentials {
        try await service.get("/internal/applications/\(ServiceClient.percentEncoded(application))/push")
    }

    /// Makes the standby key sign, and a new one stand by; only `roost` may.
    package func rotateKeys() async throws -> KeyRotation {
        try await service.post("/internal/keys/rotate", [String: String]())
    }

    /// Lets the tokens of somebody's next sign-ins and refreshes say that he may administer the suite; only `roost` may.
    package func grantAdministration(to username: String) async throws -> Administrator {
        try await service.post("/internal/administrators/grant", AdministratorName(username: username))
    }

    /// Takes that back, and signs him out everywhere.
    package func revokeAdministration(of username: String) async throws -> Done {
        try await service.post("/internal/administrators/revoke", AdministratorName(username: username))
    }

    /// Who may administer the suite.
    package func administrators() async throws -> [Administrator] {
        try await service.get("/internal/administrators", as: Page<Administrator>.self).items
    }
}
