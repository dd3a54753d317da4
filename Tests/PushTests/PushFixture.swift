import AuthAPI
import Foundation
import HTTPTypes
import Postgres
import PushAPI
import ServiceClient
import ServiceHost
import Synchronization
import TestSupport
import Wire

@testable import PushServer

/// The push service with two signed-in users, for tests.
struct PushFixture: Sendable {
    let service: TestService
    let keys: TestKeys
    let ann: TestUser
    let bob: TestUser

    /// Signs in a user, by default of the fixture's application.
    func person(_ name: String, application: String = PushFixture.application) async throws -> TestUser {
        try await TestUser(User.ID(application: application, user: name), at: service, keys)
    }

    /// Publishes an event to the service as `source`.
    func publish<Content: EventContent>(
        _ content: Content,
        id: UUID = UUID(),
        from source: String = "auth"
    ) async throws {
        let encoded = try WireJSON.encoder().encode(content)
        let event = Event(
            id: id,
            type: Content.type,
            at: Date(),
            content: try WireJSON.decoder().decode(JSONValue.self, from: encoded)
        )
        let client = try service.peerClient(source, callee: "push")
        _ = try await client.post("/internal/events", event, as: [String: Bool].self)
    }

    /// Returns the column `row` of a query.
    func rows(_ query: String) async throws -> [String] {
        try await service.database.pool.all(PostgresQuery(sql: query), as: { try $0.string("row") })
    }

    static let application = "other"
}

/// A signed-in user.
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
        token = try await keys.token(for: id, session: session)
        self.service = service
    }

    /// The connection that the typed clients use, with the user's token.
    var client: ServiceClient {
        ServiceClient(callee: "push", transport: service.transport, retry: .never) { [token] in "Bearer \(token)" }
    }

    var preferences: PreferencesClient { PreferencesClient(client) }
}

/// Runs push with applications that have `credentials` of their own for the providers; `change` sets constants.
func withPush(
    settings: [String: String] = [:],
    change: (inout PushConfiguration) -> Void = { _ in },
    peers: [String: ServiceClient] = [:],
    credentials: PushCredentials = PushCredentials(),
    now: @escaping @Sendable () -> Date = { Date() },
    _ body: (PushFixture) async throws -> Void
) async throws {
    let keys = TestKeys()
    let transport = AuthTransport(keys) { request in
        guard request.path.hasSuffix("/push") else { return ServiceResponse(status: 404) }
        return ServiceResponse(status: 200, body: try WireJSON.encoder().encode(credentials))
    }
    let auth = ServiceClient(callee: "auth", transport: transport, retry: .never)
    try await TestService.with(
        PushService.self,
        settings: settings,
        peers: .with(["auth": auth].merging(peers) { $1 }),
        now: now,
        makeService: { resources, reader in
            var configuration = try PushConfiguration(reader)
            change(&configuration)
            return try PushService(resources, configuration)
        }
    ) { service in
        let ann = try await TestUser(User.ID(application: PushFixture.application, user: "ann"), at: service, keys)
        let bob = try await TestUser(User.ID(application: PushFixture.application, user: "bob"), at: service, keys)
        try await body(PushFixture(service: service, keys: keys, ann: ann, bob: bob))
    }
}

extension DeviceDraft {
    /// Returns a draft of an iOS device.
    static func phone(_ token: String, deviceID: String = "phone") -> DeviceDraft {
        DeviceDraft(platform: "ios_production", token: token, deviceId: deviceID)
    }
}

/// A clock that the test sets and advances.
final class TestClock: Sendable {
    // The clock starts near the present, because tokens do, and ahead of any token that a slow machine issues later.
    private let time = Mutex(Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded() + 300))

    @Sendable func read() -> Date { time.withLock { $0 } }

    func advance(by seconds: TimeInterval) { time.withLock { $0 += seconds } }

    func set(_ date: Date) { time.withLock { $0 = date } }
}
