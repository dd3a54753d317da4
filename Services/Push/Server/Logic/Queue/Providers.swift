import Foundation
import Logging
import PushProviders
import ServiceLifecycle

/// Whom a push service knows a sender by.
enum ProviderCredentials: Hashable, Sendable {
    /// A key of an Apple developer account, PEM.
    case apns(key: String, keyID: String, teamID: String, topic: String)
    /// The JSON of a service account of Google's.
    case fcm(serviceAccount: String)
    /// A P-256 private key, 32 bytes in base64url; `mailto:` or `https:`.
    case vapid(privateKey: String, subject: String)

    var kind: ProviderKind {
        switch self {
        case .apns: .apns
        case .fcm: .fcm
        case .vapid: .web
        }
    }
}

/// The push services' clients, one for each credentials: an application's own, or else the deployment's.
actor Providers: ProviderDirectory, Service {
    typealias Credentials = [ProviderKind: ProviderCredentials]

    /// How long an application's credentials are known before they are asked for again, in seconds.
    private static let cacheLifetime: TimeInterval = 60
    /// How long a client is kept that nobody asks for.
    private static let idle: TimeInterval = 900

    private struct CachedCredentials {
        var credentials: Credentials
        var until: Date
    }

    private struct Client {
        let provider: any PushProvider
        var usedAt: Date
    }

    private let own: Credentials
    private let fetch: @Sendable (_ application: String) async throws -> Credentials
    private let makeClient: @Sendable (ProviderCredentials) throws -> any PushProvider
    private let logger: Logger
    private let now: @Sendable () -> Date
    private var cached: [String: CachedCredentials] = [:]
    private var pendingFetches: [String: Task<Credentials, any Error>] = [:]
    private var clients: [ProviderCredentials: Client] = [:]
    private var lastSweep = Date.distantPast

    /// - Parameters:
    ///   - own: the deployment's, for every application that has none.
    ///   - ask: what an application has.
    ///   - make: opens a client; throws for credentials that cannot be used.
    ///   - logger: hears of such credentials.
    ///   - now: the time, for how long what is known is.
    init(
        own: Credentials,
        fetch: @escaping @Sendable (_ application: String) async throws -> Credentials,
        makeClient: @escaping @Sendable (ProviderCredentials) throws -> any PushProvider,
        logger: Logger,
        now: @escaping @Sendable () -> Date
    ) {
        self.own = own
        self.fetch = fetch
        self.makeClient = makeClient
        self.logger = logger
        self.now = now
    }

    func provider(_ kind: ProviderKind, of application: String) async throws -> (any PushProvider)? {
        guard let credentials = try await credentials(of: application)[kind] ?? own[kind] else { return nil }
        let now = now()
        await closeIdleClients(at: now)
        if let client = clients[credentials] {
            clients[credentials]?.usedAt = now
            return client.provider
        }
        let provider: any PushProvider
        do {
            provider = try makeClient(credentials)
        } catch {
            logger.error(
                "the credentials for a push service cannot be used",
                metadata: ["application": "\(application)", "provider": "\(kind.rawValue)", "error": "\(error)"]
            )
            provider = UnusableProvider()
        }
        clients[credentials] = Client(provider: provider, usedAt: now)
        return provider
    }

    /// What browsers subscribe with to be notified by an application; nil where nobody could.
    func applicationServerKey(of application: String) async throws -> String? {
        let cached = try await credentials(of: application)[.web] ?? own[.web]
        guard case .vapid(let privateKey, _) = cached else { return nil }
        // Silence: a key that cannot be used is in the log as soon as something is sent.
        return try? VAPIDKey(privateKey).publicKey
    }

    /// Those known a short while ago; older ones too while nobody can be asked.
    private func credentials(of application: String) async throws -> Credentials {
        let cached = cached[application]
        if let cached, now() < cached.until { return cached.credentials }
        do {
            let credentials = try await pendingFetch(about: application)
            self.cached[application] = CachedCredentials(
                credentials: credentials,
                until: now().addingTimeInterval(Self.cacheLifetime)
            )
            return credentials
        } catch {
            guard let cached else { throw error }
            self.cached[application]?.until = now().addingTimeInterval(1)
            return cached.credentials
        }
    }

    /// One question at a time about an application, however many wait for its answer.
    private func pendingFetch(about application: String) async throws -> Credentials {
        if let asked = pendingFetches[application] { return try await asked.value }
        let pendingFetch = Task { [fetch] in try await fetch(application) }
        pendingFetches[application] = pendingFetch
        defer { pendingFetches[application] = nil }
        return try await pendingFetch.value
    }

    /// Closes clients whose credentials have been changed, or whose application has nothing to say any more.
    private func closeIdleClients(at now: Date) async {
        guard now.timeIntervalSince(lastSweep) > 60 else { return }
        lastSweep = now
        let idle = clients.filter { now.timeIntervalSince($0.value.usedAt) > Self.idle }
        for (credentials, client) in idle {
            clients[credentials] = nil
            await client.provider.shutdown()
        }
    }

    nonisolated func run() async {
        // Cancelled without grace is a shutdown too.
        try? await gracefulShutdown()
        await shutdown()
    }

    private func shutdown() async {
        let clients = clients
        self.clients = [:]
        for client in clients.values { await client.provider.shutdown() }
    }
}

/// In the place of a client whose credentials cannot be used: everything waits until they are others.
private struct UnusableProvider: PushProvider {
    func send(_ message: PushMessage, to target: PushTarget) async -> PushReply {
        PushReply(.misconfigured, reason: "unusable_credentials")
    }

    func shutdown() async {}
}
