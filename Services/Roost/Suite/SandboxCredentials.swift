import Foundation
import ServiceClient
import Wire

/// What the sandbox's Apple, Google and browsers know push by, where the operator has nothing of the real ones'.
struct SandboxCredentials: Decodable, Sendable {
    struct APNs: Decodable, Sendable {
        let key: String
        let keyId: String
        let teamId: String
        let topic: String
        let url: String
        let sandboxUrl: String
    }

    struct FCM: Decodable, Sendable {
        let serviceAccount: JSONValue
        let url: String
        let tokenUrl: String
    }

    let apns: APNs
    let fcm: FCM
    /// The authority that its certificates are of, PEM.
    let authority: String

    /// Asks a sandbox that runs.
    static func read(from url: String) async throws -> SandboxCredentials {
        let sandbox = ServiceClient(callee: "sandbox", transport: HTTPTransport(baseURLs: [url]))
        return try await sandbox.get("/sandbox/credentials")
    }

    /// Push's environment, so that it talks to the sandbox; what the operator has set stays as it is.
    func added(to environment: [String: String]) throws -> [String: String] {
        // Browsers of the sandbox are at its own address, in the clear and not.
        let hosts = [fcm.url, apns.url].compactMap(Self.place)
        let allowed = [environment["ALLOWED_PRIVATE_HOSTS"]].compactMap(\.self).filter { !$0.isEmpty } + hosts
        let own = [
            "APNS_KEY": apns.key, "APNS_KEY_ID": apns.keyId, "APNS_TEAM_ID": apns.teamId, "APNS_TOPIC": apns.topic,
            "APNS_URL": apns.url, "APNS_SANDBOX_URL": apns.sandboxUrl, "TRUSTED_CA": authority,
            "FCM_URL": fcm.url, "FCM_TOKEN_URL": fcm.tokenUrl,
            "FCM_SERVICE_ACCOUNT": String(decoding: try fcm.serviceAccount.compact(), as: UTF8.self),
        ]
        var all = environment.merging(own) { given, own in given.isEmpty ? own : given }
        all["ALLOWED_PRIVATE_HOSTS"] = allowed.joined(separator: ",")
        return all
    }

    private static func place(_ url: String) -> String? {
        guard let parts = URLComponents(string: url), let host = parts.host, let port = parts.port else { return nil }
        return "\(host):\(port)"
    }
}
