import ChildProcesses
import Credentials

struct SuiteProgram: Hashable, Sendable {
    /// The name of the executable, and of the schema if the program has a database.
    let name: String
    let port: Int
    /// The setting with the addresses of its instances; nil for the gateway, which no service calls.
    let urlKey: String?
    let hasDatabase: Bool
    /// The secrets that the program receives in addition to its database; it receives no others.
    let secrets: [String]

    /// The programs in the order of their start.
    static let all = [
        sandbox,
        SuiteProgram(
            name: "auth",
            port: 8081,
            urlKey: "AUTH_URL",
            hasDatabase: true,
            secrets: [
                "TOKEN_ENCRYPTION_KEY", "SMTP_URL", "GOOGLE_CLIENT_SECRET", "APPLE_KEY",
                "OPENID_PROVIDERS", "FACEBOOK_CLIENT_SECRET", "TWITTER_CLIENT_SECRET",
            ]
        ),
        SuiteProgram(
            name: "conversations",
            port: 8082,
            urlKey: "CONVERSATIONS_URL",
            hasDatabase: true,
            secrets: []
        ),
        SuiteProgram(
            name: "photos",
            port: 8084,
            urlKey: "PHOTOS_URL",
            hasDatabase: true,
            secrets: []
        ),
        SuiteProgram(
            name: "push",
            port: 8085,
            urlKey: "PUSH_URL",
            hasDatabase: true,
            secrets: ["VAPID_PRIVATE_KEY", "APNS_KEY", "FCM_SERVICE_ACCOUNT"]
        ),
        SuiteProgram(
            name: "social",
            port: 8083,
            urlKey: "SOCIAL_URL",
            hasDatabase: true,
            secrets: ["TOKEN_ENCRYPTION_KEY"] + networks.map { "\($0)_CLIENT_SECRET" }
        ),
        SuiteProgram(name: "gateway", port: 8080, urlKey: nil, hasDatabase: false, secrets: []),
    ]

    /// The networks that identify this deployment by a secret, as settings name them.
    private static let networks = [
        "FACEBOOK", "TWITTER", "INSTAGRAM", "VINE", "TUMBLR", "REDDIT", "MASTODON", "BLUESKY",
    ]

    /// The stand-in for external services; it starts first, because the other programs use its credentials.
    static let sandbox = SuiteProgram(
        name: "sandbox",
        port: 8090,
        urlKey: "SANDBOX_URL",
        hasDatabase: false,
        secrets: []
    )

    /// The program's database role, with a prefix because roles belong to a whole server.
    var role: String { "roost_\(name)" }
    var passwordKey: String { "DATABASE_PASSWORD_\(name.uppercased())" }
    /// The setting with the program's encryption key; nil for a program that encrypts nothing.
    var encryptionKey: String? {
        secrets.contains("TOKEN_ENCRYPTION_KEY") ? "\(name.uppercased())_TOKEN_ENCRYPTION_KEY" : nil
    }
    /// The setting with the private key by which other processes authenticate the program; the sandbox has none.
    var serviceKeySetting: String? { self == .sandbox ? nil : ServiceKeys.setting(of: name) }
    /// The setting for a separate database of the program.
    var databaseKey: String { "\(name.uppercased())_DATABASE_URL" }
}

/// A port that must be free before the suite starts.
struct NeededPort: Sendable {
    let port: LoopbackPort
    let purpose: String
    let setting: String

    func conflict() -> (problem: String, remedy: String)? {
        guard !port.isFree else {
            return nil
        }
        let owner = port.listener.map { "process \($0.pid) (\($0.commandLine.prefix(100)))" } ?? "another process"
        return ("port \(port.number), for \(purpose), is in use by \(owner)", "stop it, or set \(setting)")
    }
}

/// One process of a program, at an address of this machine.
struct SuiteInstance: Sendable {
    let program: SuiteProgram
    /// For example `auth`, or `auth-2` for a second instance.
    let name: String
    let host: String
    let port: Int
    /// The management port of a gateway with TLS, for readiness checks: its certificate is not for this machine's name.
    var managementPort: Int?

    /// The URL from this machine.
    var url: String {
        let scheme = managementPort == nil ? "http" : "https"
        return switch host {
        case "0.0.0.0": "\(scheme)://127.0.0.1:\(port)"
        case "::": "\(scheme)://[::1]:\(port)"
        default: host.contains(":") ? "\(scheme)://[\(host)]:\(port)" : "\(scheme)://\(host):\(port)"
        }
    }

    var readinessURL: String { managementPort.map { "http://127.0.0.1:\($0)" } ?? url }
}
