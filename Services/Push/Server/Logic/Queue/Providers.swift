import Foundation
import Logging
import PushProviders
import ServiceLifecycle

enum ProviderCredentials: Hashable, Sendable {
    /// The signing key of an Apple developer account, in PEM.
    case apns(key: String, keyID: String, teamID: String, topic: String)
    case fcm(serviceAccount: String)
    /// A P-256 private key, 32 bytes in base64url, and a contact, `mailto:` or `https:`.
    case vapid(privateKey: String, subject: String)

    var kind: ProviderKind {
        switch self {
        case .apns: .apns
        case .fcm: .fcm
        case .vapid: .web
        }
    }
}

/// The providers' clients, one for each set of credentials: the application's own, or else the deployment's.
actor Providers: ProviderDirectory, Service {
    typealias Credentials = [ProviderKind: ProviderCredentials]

    /// The seconds after which an application's credentials are fetched again.
    private static let cacheLifetime: TimeInterval = 60
    /// The seconds after which an unused client is closed.
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
    private var lastIdleCheck = Date.distantPast

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
                "push credentials are unusable",
                metadata: ["application": "\(application)", "provider": "\(kind.rawValue)", "error": "\(error)"]
            )
            provider = UnusableProvider()
        }
        clients[credentials] = Client(provider: provider, usedAt: now)
        return provider
    }

    /// Returns the key with which browsers subscribe to an application's notifications; nil without VAPID credentials.
    func applicationServerKey(of application: String) async throws -> String? {
        let cached = try await credentials(of: application)[.web] ?? own[.web]
        guard case .vapid(let privateKey, _) = cached else { return nil }
        // The error of an unusable key is not reported here, because `provider(_:of:)` logs it at the first send.
        return try? VAPIDKey(privateKey).publicKey
    }

    /// Returns an application's credentials, cached for 60 s; if fetching them again fails, the cached ones.
    private func credentials(of application: String) async throws -> Credentials {
        let cached = cached[application]
        if let cached, now() < cached.until { return cached.credentials }
        do {
            let credentials = try await fetchOnce(for: application)
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

    /// Runs one fetch per application at a time; concurrent callers share its result.
    private func fetchOnce(for application: String) async throws -> Credentials {
        if let pendingFetch = pendingFetches[application] { return try await pendingFetch.value }
        let pendingFetch = Task { [fetch] in try await fetch(application) }
        pendingFetches[application] = pendingFetch
        defer { pendingFetches[application] = nil }
        return try await pendingFetch.value
    }

    private func closeIdleClients(at now: Date) async {
        guard now.timeIntervalSince(lastIdleCheck) > 60 else { return }
        lastIdleCheck = now
        let idle = clients.filter { now.timeIntervalSince($0.value.usedAt) > Self.idle }
        for (credentials, client) in idle {
            clients[credentials] = nil
            await client.provider.shutdown()
        }
    }

    nonisolated func run() async {
        // Cancellation without a graceful shutdown ends the service too.
        try? await gracefulShutdown()
        await shutdown()
    }

    private func shutdown() async {
        let clients = clients
        self.clients = [:]
        for client in clients.values { await client.provider.shutdown() }
    }
}

/// A stand-in for a client with unusable credentials; the queue waits until they are replaced.
private struct UnusableProvider: PushProvider {
    func send(_ message: PushMessage, to target: PushTarget) async -> PushReply {
        PushReply(.misconfigured, reason: "unusable_credentials")
    }

    func shutdown() async {}
}
