import Foundation
import ServiceClient
import Wire

/// The sandbox's social networks, used where the operator has configured none.
struct SandboxNetworks: Decodable, Sendable {
    struct Fake: Decodable, Sendable {
        let network: String
        let url: String
        let clientId: String
        let clientSecret: String
        let accounts: [Account]
    }

    struct Account: Decodable, Sendable {
        let name: String
        let id: String
        let accessToken: String
        var refreshToken: String?
        var password: String?
    }

    let networks: [Fake]

    static func read(from url: String) async throws -> SandboxNetworks {
        let sandbox = ServiceClient(callee: "sandbox", transport: HTTPTransport(baseURLs: [url]))
        return try await sandbox.get("/sandbox/networks")
    }

    /// Returns the networks that social uses from the sandbox and that accounts can be linked to.
    func used(for given: [String: String]) -> [Fake] {
        networks.filter { $0.network != "rpan" && $0.isUsed(for: given) }
    }

    /// Returns the environment of social or auth with the sandbox instead of the networks that are not configured.
    ///
    /// `names` limits the networks, because auth uses only some of them.
    func added(to environment: [String: String], only names: Set<String>? = nil) -> [String: String] {
        var all = environment
        for fake in networks where (names?.contains(fake.network) ?? true) && fake.isUsed(for: environment) {
            // Each linked Mastodon account has its own address, and Mastodon instances register every client.
            guard fake.network != "mastodon" else { continue }
            all[fake.setting("URL")] = fake.url
            // RPAN's list of live broadcasts needs no application, and Bluesky identifies an application by its
            // address.
            guard !["rpan", "bluesky"].contains(fake.network) else { continue }
            all[fake.setting("CLIENT_ID")] = fake.clientId
            all[fake.setting("CLIENT_SECRET")] = fake.clientSecret
            guard SandboxWebhooks.objects[fake.network] != nil else { continue }
            all[fake.setting("VERIFY_TOKEN")] = SandboxWebhooks.verifyToken(of: fake, in: environment)
        }
        guard let parts = networks.first.flatMap({ URLComponents(string: $0.url) }), let host = parts.host,
            let port = parts.port
        else { return all }
        // After linking a network, the network redirects to the sandbox's own page.
        if all["SOCIAL_REDIRECT_URLS"]?.isEmpty ?? true { all["SOCIAL_REDIRECT_URLS"] = "http://\(host):\(port)/" }
        let allowed = environment["ALLOWED_PRIVATE_HOSTS"].flatMap { $0.isEmpty ? nil : [$0] } ?? []
        all["ALLOWED_PRIVATE_HOSTS"] = (allowed + ["\(host):\(port)"]).joined(separator: ",")
        return all
    }
}

extension SandboxNetworks.Fake {
    /// The sandbox's own address without the network's path; a Mastodon instance has no path.
    var origin: String {
        var parts = URLComponents(string: url)
        parts?.path = ""
        return parts?.string ?? url
    }

    /// The prefix of the network's paths, for example `/facebook`.
    var path: String { URLComponents(string: url)?.path ?? "" }

    func setting(_ name: String) -> String { "\(network.uppercased())_\(name)" }

    /// Returns whether the sandbox replaces the network: it is not configured, or its URL is this one.
    func isUsed(for given: [String: String]) -> Bool {
        given[setting("URL")] == url || ["URL", "CLIENT_ID"].allSatisfy { given[setting($0)]?.isEmpty ?? true }
    }
}
