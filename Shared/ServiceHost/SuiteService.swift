package import Configuration
package import Credentials
package import Foundation
import Hummingbird
package import Logging
package import Postgres
package import ServiceClient
package import ServiceLifecycle

/// A service of the suite: what makes it different from the others; `ServiceHost` does what is alike.
package protocol SuiteService: Sendable {
    /// `auth`, …: its schema, its database role, its label in logs and metrics, the audience of calls to it.
    static var name: String { get }
    static var defaultPort: Int { get }
    /// In order; never edited once landed.
    static var migrations: [Migration] { get }
    /// PostgreSQL's settings for this service's reads; none of their own unless told.
    static var readSettings: [String: String] { get }
    /// The types of events that it tells others; one that has any has `EventOutbox`'s table among its migrations.
    static var events: Set<String> { get }
    /// The rows of its workers that may be set aside; none unless told.
    static var setAsideKinds: [SetAsideKind] { get }

    /// Where keys and revocations come from: auth, over HTTP, but in auth itself.
    static func credentialSource(
        database: PostgresPool,
        peers: PeerServices,
        configuration: ConfigReader,
        now: @escaping @Sendable () -> Date
    ) async throws -> any CredentialSource

    init(resources: ServiceResources, configuration: ConfigReader) async throws

    func addRoutes(to routes: SuiteRoutes)

    /// Work that goes on besides requests; stopped before the database is.
    var background: [any Service] { get }

    /// What sees requests before the routes do; nothing unless told.
    var gate: ConnectionGate? { get }

    /// What it can answer without its routes, where it has no gate; nothing unless told.
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

/// What the host hands a service to be made of.
package struct ServiceResources: Sendable {
    package let database: PostgresPool
    package let peers: PeerServices
    package let credentials: CredentialVerifier
    package let cursors: CursorSigner
    package let links: LinkSigner
    package let events: EventOutbox
    package let setAside: SetAside
    package let logger: Logger
    /// Where clients reach the suite, without a slash at the end; the issuer of its tokens.
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

/// The services that may be called, by name.
package struct PeerServices: Sendable {
    private let make: @Sendable (String) throws -> ServiceClient

    package init(_ make: @escaping @Sendable (String) throws -> ServiceClient) {
        self.make = make
    }

    package func client(_ name: String) throws -> ServiceClient { try make(name) }

    /// Over HTTP, at the URLs that the settings name (`AUTH_URL`, …), with service tokens of this service.
    package static func overHTTP(configuration: ConfigReader, tokens: ServiceTokens) -> PeerServices {
        PeerServices { name in
            let setting = "\(name.uppercased())_URL"
            let known = ports[name].map { "http://127.0.0.1:\($0)" }
            guard let fallback = known ?? configuration.text(setting) else {
                throw SettingError(setting, "is not set, and \(name) is to be called")
            }
            let urls = try configuration.baseURLs(setting, default: fallback)
            return ServiceClient(callee: name, transport: HTTPTransport(baseURLs: urls)) {
                "Bearer \(try tokens.token(for: name))"
            }
        }
    }

    /// The ports that services listen on unless told otherwise.
    package static let ports = [
        "auth": 8081, "conversations": 8082, "social": 8083, "photos": 8084, "push": 8085,
    ]
}
