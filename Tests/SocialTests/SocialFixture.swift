import Configuration
import Foundation
import HTTPTypes
import Postgres
import ServiceClient
import ServiceHost
import ServiceLifecycle
import SocialAPI
import Synchronization
import TestSupport
import Wire

@testable import SocialServer

/// The service over in-memory networks, with two signed-in users.
struct SocialFixture: Sendable {
    let service: TestService
    let keys: TestKeys
    let networks: MemoryNetworks
    var clock: TestClock { networks.clock }
    let ann: TestUser
    let bob: TestUser

    /// Signs a user in, by default in the fixture's application.
    func person(_ name: String, application: String = SocialFixture.application) async throws -> TestUser {
        try await TestUser(User.ID(application: application, user: name), at: service, keys)
    }

    /// Returns the column `row` of a query.
    func rows(_ query: String) async throws -> [String] {
        try await service.database.pool.all(PostgresQuery(sql: query), as: { try $0.string("row") })
    }

    /// Runs another instance of the service over the same database and networks.
    func another(settings: [String: String] = [:], _ body: (TestService) async throws -> Void) async throws {
        let auth = ServiceClient(callee: "auth", transport: AuthTransport(keys), retry: .never)
        try await SocialWithMemoryNetworks.$networks.withValue(networks) {
            try await TestService.with(
                SocialWithMemoryNetworks.self,
                over: service.database,
                settings: Self.settings.merging(settings) { $1 },
                peers: .with(["auth": auth]),
                now: clock.read,
                body
            )
        }
    }

    static let application = "other"
    /// Settings without polling and with a long deadline, so that a busy machine does not fail tests.
    static let settings = [
        "TOKEN_ENCRYPTION_KEY": Data(repeating: 7, count: 32).base64EncodedString(),
        "SOCIAL_POLLS_PER_HOUR": pollsPerHour(0), "SOCIAL_DEADLINE_MS": "30000",
    ]

    /// Returns the setting for a number of polls per hour of each network.
    static func pollsPerHour(_ count: Int) -> String {
        Network.allCases.map { "\($0.rawValue)=\(count)" }.joined(separator: ",")
    }
}

/// A user who is signed in.
struct TestUser: SignedInUser {
    let id: User.ID
    let session: String
    let token: String
    let service: TestService

    init(
        _ id: User.ID,
        session: String = UUID().uuidString.lowercased(),
        at service: TestService,
        _ keys: TestKeys
    ) async throws {
        self.id = id
        self.session = session
        // The lifetime exceeds the time by which any test advances its clock.
        token = try await keys.token(for: id, session: session, lifetime: 100_000_000)
        self.service = service
    }

    /// Reads a page of all networks, with tokens in `meta` as in the seed.
    func read(
        _ path: String,
        cursor: String? = nil,
        limit: Int = 20,
        meta: [Network: String] = [:],
        _ fields: [String: JSONValue] = [:]
    ) async throws -> SocialResponse {
        var body = fields
        let given = meta.map { network, name in
            // Any public host works, because no request is sent.
            let instance = network == .mastodon ? ["instance": JSONValue.string("mastodon.example")] : [:]
            return (
                network.rawValue,
                JSONValue.object(["access_token": .string(name), "id": .string(name)].merging(instance) { $1 })
            )
        }
        body["meta"] = .object(Dictionary(uniqueKeysWithValues: given))
        body["limit"] = .integer(Int64(limit))
        if let cursor { body["cursor"] = .string(cursor) }
        let answer = try await ask(.post, path, String(decoding: JSONValue.object(body).compact(), as: UTF8.self))
        guard answer.status == 200 else { throw TestSupportError("\(answer.status): \(answer.text)") }
        return try answer.decode()
    }
}

/// The service with in-memory networks.
private struct SocialWithMemoryNetworks: SuiteService {
    static let name = SocialService.name
    static let defaultPort = SocialService.defaultPort
    static let migrations = SocialService.migrations
    static let setAsideKinds = SocialService.setAsideKinds

    @TaskLocal static var networks = MemoryNetworks([])

    private let service: SocialService

    init(resources: ServiceResources, configuration: ConfigReader) async throws {
        let connectors = Connectors(Self.networks.all)
        service = try SocialService(resources, SocialConfiguration(configuration), connectors)
    }

    func addRoutes(to routes: SuiteRoutes) { service.addRoutes(to: routes) }
    var background: [any Service] { service.background }
}

func withSocial(
    _ networks: MemoryNetworks = MemoryNetworks(),
    settings: [String: String] = [:],
    peers: [String: ServiceClient] = [:],
    _ body: (SocialFixture) async throws -> Void
) async throws {
    let keys = TestKeys()
    let auth = ServiceClient(callee: "auth", transport: AuthTransport(keys), retry: .never)
    try await SocialWithMemoryNetworks.$networks.withValue(networks) {
        try await TestService.with(
            SocialWithMemoryNetworks.self,
            settings: SocialFixture.settings.merging(settings) { $1 },
            peers: .with(["auth": auth].merging(peers) { $1 }),
            now: networks.clock.read
        ) { service in
            let ann = try await TestUser(
                User.ID(application: SocialFixture.application, user: "ann"),
                at: service,
                keys
            )
            let bob = try await TestUser(
                User.ID(application: SocialFixture.application, user: "bob"),
                at: service,
                keys
            )
            let fixture = SocialFixture(service: service, keys: keys, networks: networks, ann: ann, bob: bob)
            try await body(fixture)
        }
    }
}

/// A clock that only the test advances.
final class TestClock: Sendable {
    // The clock starts near the current time, because credentials do, and ahead of it, because issuing the next
    // credential may take long.
    private let time = Mutex(Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded() + 300))

    @Sendable func read() -> Date { time.withLock { $0 } }

    func advance(by seconds: TimeInterval) { time.withLock { $0 += seconds } }
}

/// A value that the tasks of a test share.
final class Shared<Value: Sendable>: Sendable {
    private let state: Mutex<Value>

    init(_ value: Value) { state = Mutex(value) }

    var value: Value { state.withLock { $0 } }
    @discardableResult
    func change<Result: Sendable>(_ body: (inout Value) -> Result) -> Result {
        state.withLock { (value: inout sending Value) -> Result in body(&value) }
    }
}
