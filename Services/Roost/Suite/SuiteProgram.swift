import ChildProcesses
import Credentials

/// What the operator's command knows of each program of the suite.
struct SuiteProgram: Hashable, Sendable {
    /// The executable, and the schema of one that has a database.
    let name: String
    let port: Int
    /// The setting that says where its instances are; the gateway, which nobody calls, has none.
    let urlKey: String?
    let hasDatabase: Bool
    /// Secrets that it is given, beside its database; no other is.
    let secrets: [String]

    /// In the order in which they are started.
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

    /// The networks that know this deployment by a secret, as settings name them.
    private static let networks = [
        "FACEBOOK", "TWITTER", "INSTAGRAM", "VINE", "TUMBLR", "REDDIT", "MASTODON", "BLUESKY",
    ]

    /// The outside world, where there is none: first, since what it makes is told to the others.
    static let sandbox = SuiteProgram(
        name: "sandbox",
        port: 8090,
        urlKey: "SANDBOX_URL",
        hasDatabase: false,
        secrets: []
    )

    /// Its user in the database; of its own name, since users belong to a whole server.
    var role: String { "roost_\(name)" }
    var passwordKey: String { "DATABASE_PASSWORD_\(name.uppercased())" }
    /// The setting of the key that it alone encrypts with; nil for a program that encrypts nothing.
    var encryptionKey: String? {
        secrets.contains("TOKEN_ENCRYPTION_KEY") ? "\(name.uppercased())_TOKEN_ENCRYPTION_KEY" : nil
    }
    /// The setting with its private key, by which the other processes recognise it; the sandbox has none.
    var serviceKeySetting: String? { self == .sandbox ? nil : ServiceKeys.setting(of: name) }
    /// The setting that gives it a database of its own.
    var databaseKey: String { "\(name.uppercased())_DATABASE_URL" }
}

/// A port that must be free before the suite is started.
struct NeededPort: Sendable {
    let port: LoopbackPort
    /// Who listens there.
    let purpose: String
    /// The setting that chooses another.
    let setting: String

    /// What is wrong and what to do about it, where somebody else listens there.
    func conflict() -> (problem: String, remedy: String)? {
        guard !port.isFree else {
            return nil
        }
        let owner = port.listener.map { "process \($0.pid) (\($0.commandLine.prefix(100)))" } ?? "another process"
        return ("port \(port.number), for \(purpose), is taken by \(owner)", "stop it, or set \(setting)")
    }
}

/// One process of a program: an address on this machine.
struct SuiteInstance: Sendable {
    let program: SuiteProgram
    /// `auth`, and `auth-2` where there are several.
    let name: String
    /// The address to listen on.
    let host: String
    let port: Int
    /// Where a gateway that speaks TLS says to this machine whether it is ready: its certificate is for another name.
    var managementPort: Int?

    /// Where it answers to this machine.
    var url: String {
        let scheme = managementPort == nil ? "http" : "https"
        return switch host {
        case "0.0.0.0": "\(scheme)://127.0.0.1:\(port)"
        case "::": "\(scheme)://[::1]:\(port)"
        default: host.contains(":") ? "\(scheme)://[\(host)]:\(port)" : "\(scheme)://\(host):\(port)"
        }
    }

    /// Where it is asked whether it is ready.
    var readinessURL: String { managementPort.map { "http://127.0.0.1:\($0)" } ?? url }
}
