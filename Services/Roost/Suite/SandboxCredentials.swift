import Foundation
import ServiceClient
import Wire

/// The credentials of the sandbox's push services and mail server.
///
/// A service receives them if the operator has not set the credentials of a real provider.
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

    struct Mail: Decodable, Sendable {
        let url: String
        let from: String
    }

    let apns: APNs
    let fcm: FCM
    let mail: Mail
    /// The certificate authority of the sandbox, PEM.
    let authority: String

    static func read(from url: String) async throws -> SandboxCredentials {
        let sandbox = ServiceClient(callee: "sandbox", transport: HTTPTransport(baseURLs: [url]))
        return try await sandbox.get("/sandbox/credentials")
    }

    /// Returns push's environment with the sandbox instead of each provider for which the operator has no key.
    func added(to environment: [String: String]) throws -> [String: String] {
        var all = environment
        if !environment.isSet("APNS_KEY") { all.merge(apnsSettings) { $1 } }
        if !environment.isSet("FCM_SERVICE_ACCOUNT") { all.merge(try fcmSettings) { $1 } }
        if !environment.isSet("TRUSTED_CA") { all["TRUSTED_CA"] = authority }
        // Push does not send to private addresses unless they are listed here. The sandbox's Web Push endpoints are at
        // the sandbox's own addresses: one with HTTP, one with HTTPS.
        let allowed = environment.isSet("ALLOWED_PRIVATE_HOSTS") ? [environment["ALLOWED_PRIVATE_HOSTS"] ?? ""] : []
        all["ALLOWED_PRIVATE_HOSTS"] = (allowed + [fcm.url, apns.url].compactMap(Self.hostAndPort)).joined(
            separator: ","
        )
        return all
    }

    /// Returns auth's environment with the sandbox's mail server if the operator has no mail server.
    func addedForMail(to environment: [String: String]) -> [String: String] {
        guard !environment.isSet("SMTP_URL") else { return environment }
        var all = environment
        all["SMTP_URL"] = mail.url
        if !environment.isSet("SMTP_FROM") { all["SMTP_FROM"] = mail.from }
        if !environment.isSet("TRUSTED_CA") { all["TRUSTED_CA"] = authority }
        return all
    }

    private var apnsSettings: [String: String] {
        [
            "APNS_KEY": apns.key, "APNS_KEY_ID": apns.keyId, "APNS_TEAM_ID": apns.teamId, "APNS_TOPIC": apns.topic,
            "APNS_URL": apns.url, "APNS_SANDBOX_URL": apns.sandboxUrl,
        ]
    }

    private var fcmSettings: [String: String] {
        get throws {
            let account = String(decoding: try fcm.serviceAccount.compact(), as: UTF8.self)
            return ["FCM_SERVICE_ACCOUNT": account, "FCM_URL": fcm.url, "FCM_TOKEN_URL": fcm.tokenUrl]
        }
    }

    private static func hostAndPort(_ url: String) -> String? {
        guard let parts = URLComponents(string: url), let host = parts.host, let port = parts.port else { return nil }
        return "\(host):\(port)"
    }
}
