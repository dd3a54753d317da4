package import Configuration
package import Credentials
package import Foundation
import Hummingbird
package import Logging
package import Postgres
package import ServiceClient
package import ServiceLifecycle

/// A service of the suite; `ServiceHost` provides everything that all services share.
package protocol SuiteService: Sendable {
    /// The service's name (`auth`, …): its schema, database role, label in logs and metrics, and audience of service
    /// tokens.
    static var name: String { get }
    static var defaultPort: Int { get }
    /// The migrations in order; a released migration is never edited.
    static var migrations: [Migration] { get }
    /// PostgreSQL settings for the read connections of this service; empty by default.
    static var readSettings: [String: String] { get }
    /// The event types that the service publishes; if there are any, its migrations include `EventOutbox`'s table.
    static var events: Set<String> { get }
    /// The kinds of its workers' rows that can be set aside; empty by default.
    static var setAsideKinds: [SetAsideKind] { get }

    /// Returns the source of keys and revocations: auth over HTTP, or the database in auth itself.
    static func credentialSource(
        database: PostgresPool,
        peers: PeerServices,
        configuration: ConfigReader,
        now: @escaping @Sendable () -> Date
    ) async throws -> any CredentialSource

    init(resources: ServiceResources, configuration: ConfigReader) async throws

    func addRoutes(to routes: SuiteRoutes)

    /// The background work, stopped before the database.
    var background: [any Service] { get }

    /// The gate in front of the routes; nil by default.
    var gate: ConnectionGate? { get }

    /// The shortcut in front of the routes, used if there is no gate; nil by default.
    var shortcut: (any Shortcut)? { get }
}

extension SuiteService {
    package static var readSettings: [String: String] { [:] }
    package static var events: Set<String> { [] }
    package static var setAsideKinds: [SetAsideKind] { [] }

    package static func credentialSource(
        database: PostgresPool,
        peers: PeerServices,
        configuration: ConfigReader,
        now: @escaping @Sendable () -> Date
    ) async throws -> any CredentialSource {
        HTTPCredentialSource(auth: try peers.client("auth"))
    }

    package var background: [any Service] { [] }

    package var gate: ConnectionGate? { nil }

    package var shortcut: (any Shortcut)? { nil }
}

/// The objects that the host provides to a service.
package struct ServiceResources: Sendable {
    package let database: PostgresPool
    package let peers: PeerServices
    package let credentials: CredentialVerifier
    package let cursors: CursorSigner
    package let links: LinkSigner
    package let events: EventOutbox
    package let setAside: SetAside
    package let logger: Logger
    /// The URL at which clients reach the suite, without a slash at the end; also the issuer of its tokens.
    package let publicURL: String
    package let now: @Sendable () -> Date

    package init(
        database: PostgresPool,
        peers: PeerServices,
        credentials: CredentialVerifier,
        cursors: CursorSigner,
        links: LinkSigner,
        events: EventOutbox,
        setAside: SetAside,
        logger: Logger,
        publicURL: String,
        now: @escaping @Sendable () -> Date
    ) {
        self.database = database
        self.peers = peers
        self.credentials = credentials
        self.cursors = cursors
        self.links = links
        self.events = events
        self.setAside = setAside
        self.logger = logger
        self.publicURL = publicURL
        self.now = now
    }
}

/// The clients of the services that this service may call.
package struct PeerServices: Sendable {
    private let make: @Sendable (String) throws -> ServiceClient

    package init(_ make: @escaping @Sendable (String) throws -> ServiceClient) {
        self.make = make
    }

    package func client(_ name: String) throws -> ServiceClient { try make(name) }

    /// Returns clients over HTTP, at the URLs of the settings (`AUTH_URL`, …), with this service's tokens.
    package static func overHTTP(configuration: ConfigReader, tokens: ServiceTokens) -> PeerServices {
        PeerServices { name in
            let setting = "\(name.uppercased())_URL"
            let standard = ports[name].map { "http://127.0.0.1:\($0)" }
            guard let fallback = standard ?? configuration.text(setting) else {
                throw SettingError(setting, "is not set, but this service calls \(name)")
            }
            let urls = try configuration.baseURLs(setting, default: fallback)
            return ServiceClient(callee: name, transport: HTTPTransport(baseURLs: urls)) {
                "Bearer \(try tokens.token(for: name))"
            }
        }
    }

    /// The default ports of the services.
    package static let ports = [
        "auth": 8081, "conversations": 8082, "social": 8083, "photos": 8084, "push": 8085,
    ]
}
