import Foundation
import ServiceClient
import Wire

/// The sandbox's social networks, where the operator knows nothing of the real ones'.
struct SandboxNetworks: Decodable, Sendable {
    struct Fake: Decodable, Sendable {
        let network: String
        let url: String
        let clientId: String
        let clientSecret: String
        let accounts: [Account]
    }

    /// What somebody's account there is linked by.
    struct Account: Decodable, Sendable {
        let name: String
        let id: String
        let accessToken: String
        var refreshToken: String?
        var password: String?
    }

    let networks: [Fake]

    /// Asks a sandbox that runs.
    static func read(from url: String) async throws -> SandboxNetworks {
        let sandbox = ServiceClient(callee: "sandbox", transport: HTTPTransport(baseURLs: [url]))
        return try await sandbox.get("/sandbox/networks")
    }

    /// Those that social asks there, and not at the real place: people can be linked to them.
    func used(for given: [String: String]) -> [Fake] {
        networks.filter { $0.network != "rpan" && $0.isUsed(for: given) }
    }

    /// The environment of social, or of auth, which knows but some of them: it asks the sandbox instead of a network
    /// that the operator has said nothing of.
    func added(to environment: [String: String], only names: Set<String>? = nil) -> [String: String] {
        var all = environment
        for fake in networks where (names?.contains(fake.network) ?? true) && fake.isUsed(for: environment) {
            // Mastodon's address comes with each account, and its instances register whoever asks.
            guard fake.network != "mastodon" else { continue }
            all[fake.setting("URL")] = fake.url
            // Who is asked what is live needs no application, and Bluesky knows one by its address.
            guard !["rpan", "bluesky"].contains(fake.network) else { continue }
            all[fake.setting("CLIENT_ID")] = fake.clientId
            all[fake.setting("CLIENT_SECRET")] = fake.clientSecret
            guard SandboxWebhooks.objects[fake.network] != nil else { continue }
            all[fake.setting("VERIFY_TOKEN")] = SandboxWebhooks.verifyToken(of: fake, in: environment)
        }
        guard let parts = networks.first.flatMap({ URLComponents(string: $0.url) }), let host = parts.host,
            let port = parts.port
        else { return all }
        // The sandbox's own page, so that there is somewhere to come back to from a network's.
        if all["SOCIAL_REDIRECT_URLS"]?.isEmpty ?? true { all["SOCIAL_REDIRECT_URLS"] = "http://\(host):\(port)/" }
        let allowed = environment["ALLOWED_PRIVATE_HOSTS"].flatMap { $0.isEmpty ? nil : [$0] } ?? []
        all["ALLOWED_PRIVATE_HOSTS"] = (allowed + ["\(host):\(port)"]).joined(separator: ",")
        return all
    }
}

extension SandboxNetworks.Fake {
    /// The sandbox's own address, without the network's path: an instance of Mastodon has none.
    var origin: String {
        var parts = URLComponents(string: url)
        parts?.path = ""
        return parts?.string ?? url
    }

    /// `/facebook`: what all paths of the network's begin with.
    var path: String { URLComponents(string: url)?.path ?? "" }

    /// The name of a setting of this network's.
    func setting(_ name: String) -> String { "\(network.uppercased())_\(name)" }

    /// Whether the operator has said nothing of the real one, or that this is it.
    func isUsed(for given: [String: String]) -> Bool {
        given[setting("URL")] == url || ["URL", "CLIENT_ID"].allSatisfy { given[setting($0)]?.isEmpty ?? true }
    }
}
