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

/// The service, and people signed in.
struct PushFixture: Sendable {
    let service: TestService
    let keys: TestKeys
    let ann: TestUser
    let bob: TestUser

    /// Somebody signed in, of the application that the scene plays in unless told otherwise.
    func person(_ name: String, application: String = PushFixture.application) async throws -> TestUser {
        try await TestUser(User.ID(application: application, user: name), at: service, keys)
    }

    /// Tells the service what happened, as `source` does.
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

    /// What a query answers in its column `row`.
    func rows(_ query: String) async throws -> [String] {
        try await service.database.pool.all(PostgresQuery(sql: query), as: { try $0.string("row") })
    }

    static let application = "other"
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
        token = try await keys.token(for: id, session: session)
        self.service = service
    }

    /// What the typed clients are made of.
    var client: ServiceClient {
        ServiceClient(callee: "push", transport: service.transport, retry: .never) { [token] in "Bearer \(token)" }
    }

    var preferences: PreferencesClient { PreferencesClient(client) }
}

/// Applications have no credentials of their own for push services unless told.
///
/// `change` sets other values of constants.
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
    /// One of Apple's, by its token.
    static func phone(_ token: String, deviceID: String = "phone") -> DeviceDraft {
        DeviceDraft(platform: "ios_production", token: token, deviceId: deviceID)
    }
}

/// A time that goes on when the test says so.
final class TestClock: Sendable {
    // Today's, since credentials are; and ahead of them, however slow the machine makes the next one.
    private let time = Mutex(Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded() + 300))

    @Sendable func read() -> Date { time.withLock { $0 } }

    func advance(by seconds: TimeInterval) { time.withLock { $0 += seconds } }

    func set(_ date: Date) { time.withLock { $0 = date } }
}
