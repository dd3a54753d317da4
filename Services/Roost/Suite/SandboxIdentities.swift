import Foundation
import ServiceClient
import Wire

/// The sandbox's sign-in providers (Google and Apple), used where the operator has configured none.
struct SandboxIdentities: Decodable, Sendable {
    struct Fake: Decodable, Sendable {
        let provider: String
        let issuer: String
        let clientId: String
        let clientSecret: String?
        let key: String?
        let keyId: String?
        let teamId: String?
    }

    let identities: [Fake]

    static func read(from url: String) async throws -> SandboxIdentities {
        let sandbox = ServiceClient(callee: "sandbox", transport: HTTPTransport(baseURLs: [url]))
        return try await sandbox.get("/sandbox/identities")
    }

    /// Returns auth's environment with the sandbox's providers instead of those that are not configured.
    func added(to environment: [String: String]) -> [String: String] {
        var all = environment
        for fake in identities {
            let name = fake.provider.uppercased()
            guard !environment.isSet("\(name)_CLIENT_ID"), !environment.isSet("\(name)_ISSUER") else { continue }
            all["\(name)_CLIENT_ID"] = fake.clientId
            all["\(name)_ISSUER"] = fake.issuer
            all["\(name)_CLIENT_SECRET"] = fake.clientSecret
            all["\(name)_KEY"] = fake.key
            all["\(name)_KEY_ID"] = fake.keyId
            all["\(name)_TEAM_ID"] = fake.teamId
        }
        // After a sign-in, the provider redirects to the sandbox's own page.
        let issuer = identities.first.flatMap { URLComponents(string: $0.issuer) }
        if !environment.isSet("IDENTITY_REDIRECT_URLS"), var page = issuer {
            page.path = "/"
            all["IDENTITY_REDIRECT_URLS"] = page.string
        }
        return all
    }
}
