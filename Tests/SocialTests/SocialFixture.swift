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

/// The service over networks of the test's own, and people signed in.
struct Fixture: Sendable {
    let service: TestService
    let keys: TestKeys
    let networks: MemoryNetworks
    var clock: TestClock { networks.clock }
    let ann: TestUser
    let bob: TestUser

    /// Somebody signed in, of the application that the scene plays in unless told otherwise.
    func person(_ name: String, application: String = Fixture.application) async throws -> TestUser {
        try await TestUser(User.ID(application: application, user: name), at: service, keys)
    }

    /// What a query answers in its column `row`.
    func rows(_ query: String) async throws -> [String] {
        try await service.database.pool.all(PostgresQuery(sql: query), as: { try $0.string("row") })
    }

    /// Another instance of the service, over the same database and networks.
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
    /// Nobody looks at networks by himself, and none is too slow on a busy machine, unless a test is about that.
    static let settings = [
        "TOKEN_ENCRYPTION_KEY": Data(repeating: 7, count: 32).base64EncodedString(),
        "SOCIAL_POLLS_PER_HOUR": pollsPerHour(0), "SOCIAL_DEADLINE_MS": "30000",
    ]

    /// So many looks an hour at each network.
    static func pollsPerHour(_ count: Int) -> String {
        Network.allCases.map { "\($0.rawValue)=\(count)" }.joined(separator: ",")
    }
}

/// Somebody signed in.
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
        // Longer than any test's clock runs.
        token = try await keys.token(for: id, session: session, lifetime: 100_000_000)
        self.service = service
    }

    /// A page of what all networks have; `meta` as the seed has it.
    func read(
        _ path: String,
        cursor: String? = nil,
        limit: Int = 20,
        meta: [Network: String] = [:],
        _ fields: [String: JSONValue] = [:]
    ) async throws -> SocialResponse {
        var body = fields
        let given = meta.map { network, name in
            // Any public host: nobody goes there.
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

/// The service as it is, but for its networks.
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
    _ body: (Fixture) async throws -> Void
) async throws {
    let keys = TestKeys()
    let auth = ServiceClient(callee: "auth", transport: AuthTransport(keys), retry: .never)
    try await SocialWithMemoryNetworks.$networks.withValue(networks) {
        try await TestService.with(
            SocialWithMemoryNetworks.self,
            settings: Fixture.settings.merging(settings) { $1 },
            peers: .with(["auth": auth].merging(peers) { $1 }),
            now: networks.clock.read
        ) { service in
            let ann = try await TestUser(User.ID(application: Fixture.application, user: "ann"), at: service, keys)
            let bob = try await TestUser(User.ID(application: Fixture.application, user: "bob"), at: service, keys)
            let fixture = Fixture(service: service, keys: keys, networks: networks, ann: ann, bob: bob)
            try await body(fixture)
        }
    }
}

/// A time that goes on when the test says so.
final class TestClock: Sendable {
    // Today's, since credentials are; and ahead of them, however slow the machine makes the next one.
    private let time = Mutex(Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded() + 300))

    @Sendable func read() -> Date { time.withLock { $0 } }

    func advance(by seconds: TimeInterval) { time.withLock { $0 += seconds } }
}

/// A value that tasks of a test share.
final class Shared<Value: Sendable>: Sendable {
    private let state: Mutex<Value>

    init(_ value: Value) { state = Mutex(value) }

    var value: Value { state.withLock { $0 } }
    @discardableResult
    func change<Result: Sendable>(_ body: (inout Value) -> Result) -> Result {
        state.withLock { (value: inout sending Value) -> Result in body(&value) }
    }
}
