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

    struct Mail: Decodable, Sendable {
        let url: String
        let from: String
    }

    let apns: APNs
    let fcm: FCM
    let mail: Mail
    /// The authority that its certificates are of, PEM.
    let authority: String

    /// Asks a sandbox that runs.
    static func read(from url: String) async throws -> SandboxCredentials {
        let sandbox = ServiceClient(callee: "sandbox", transport: HTTPTransport(baseURLs: [url]))
        return try await sandbox.get("/sandbox/credentials")
    }

    /// Push's environment, so that it talks to the sandbox instead of a provider that the operator has no key of.
    func added(to environment: [String: String]) throws -> [String: String] {
        var all = environment
        if !environment.isSet("APNS_KEY") { all.merge(apnsSettings) { $1 } }
        if !environment.isSet("FCM_SERVICE_ACCOUNT") { all.merge(try fcmSettings) { $1 } }
        if !environment.isSet("TRUSTED_CA") { all["TRUSTED_CA"] = authority }
        // Browsers of the sandbox are at its own address, in the clear and not.
        let allowed = environment.isSet("ALLOWED_PRIVATE_HOSTS") ? [environment["ALLOWED_PRIVATE_HOSTS"] ?? ""] : []
        all["ALLOWED_PRIVATE_HOSTS"] = (allowed + [fcm.url, apns.url].compactMap(Self.hostAndPort)).joined(
            separator: ","
        )
        return all
    }

    /// Auth's environment, so that mails go to the sandbox's mailbox where the operator has no mail server.
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
