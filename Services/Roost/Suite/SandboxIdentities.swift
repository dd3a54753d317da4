import Foundation
import ServiceClient
import Wire

/// The sandbox's Google and Apple as places to sign in by, where the operator knows nothing of the real ones'.
struct SandboxIdentities: Decodable, Sendable {
    struct Played: Decodable, Sendable {
        let provider: String
        let issuer: String
        let clientId: String
        let clientSecret: String?
        let key: String?
        let keyId: String?
        let teamId: String?
    }

    let identities: [Played]

    /// Asks a sandbox that runs.
    static func read(from url: String) async throws -> SandboxIdentities {
        let sandbox = ServiceClient(callee: "sandbox", transport: HTTPTransport(baseURLs: [url]))
        return try await sandbox.get("/sandbox/identities")
    }

    /// Auth's environment, so that people sign in at the sandbox where the operator has said nothing of a provider.
    func added(to environment: [String: String]) -> [String: String] {
        var all = environment
        for played in identities {
            let name = played.provider.uppercased()
            guard !environment.isSet("\(name)_CLIENT_ID"), !environment.isSet("\(name)_ISSUER") else { continue }
            all["\(name)_CLIENT_ID"] = played.clientId
            all["\(name)_ISSUER"] = played.issuer
            all["\(name)_CLIENT_SECRET"] = played.clientSecret
            all["\(name)_KEY"] = played.key
            all["\(name)_KEY_ID"] = played.keyId
            all["\(name)_TEAM_ID"] = played.teamId
        }
        // The sandbox's own page, so that there is somewhere to come back to from a provider's.
        let issuer = identities.first.flatMap { URLComponents(string: $0.issuer) }
        if !environment.isSet("IDENTITY_REDIRECT_URLS"), var page = issuer {
            page.path = "/"
            all["IDENTITY_REDIRECT_URLS"] = page.string
        }
        return all
    }
}
