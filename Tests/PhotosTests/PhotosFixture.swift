import AuthAPI
import Configuration
import Foundation
import HTTPTypes
import PhotosAPI
import Postgres
import ServiceClient
import ServiceHost
import TestSupport
import Wire

@testable import PhotosServer

/// The service with three signed-in users.
struct PhotosFixture: Sendable {
    let service: TestService
    let auth: FakeAuth
    let ann: TestUser
    let bob: TestUser
    let eve: TestUser

    static let application = "other"

    /// Signs a user in, by default in the fixture's application, without a request to photos.
    func testUser(
        _ name: String,
        application: String = PhotosFixture.application,
        scope: String? = nil
    ) async throws -> TestUser {
        try await TestUser(User.ID(application: application, user: name), scope: scope, at: service, auth)
    }

    /// Signs a user of Roost itself in, whose name the fake auth knows.
    func account(_ name: String, scope: String? = nil) async throws -> TestUser {
        let id = UUID().uuidString.lowercased()
        auth.names.change { $0[id] = name }
        return try await testUser(id, application: RoostApplication.id, scope: scope)
    }

    /// Returns the column `row` of a query.
    func rows(_ query: String) async throws -> [String] {
        try await service.database.pool.all(PostgresQuery(sql: query), as: { try $0.string("row") })
    }
}

/// A user who is signed in to the service.
struct TestUser: SignedInUser {
    let id: User.ID
    let token: String
    let service: TestService
    let photos: PhotosClient

    init(_ id: User.ID, scope: String? = nil, at service: TestService, _ auth: FakeAuth) async throws {
        let token = try await auth.keys.token(for: id, scope: scope)
        self.id = id
        self.token = token
        self.service = service
        photos = PhotosClient(
            ServiceClient(callee: "photos", transport: service.transport, retry: .never) { "Bearer \(token)" }
        )
    }
}

/// `change` sets other values of constants.
func withPhotos(
    settings: [String: String] = [:],
    change: (inout PhotosConfiguration) -> Void = { _ in },
    peers: [String: ServiceClient] = [:],
    now: @escaping @Sendable () -> Date = { Date() },
    _ body: (PhotosFixture) async throws -> Void
) async throws {
    let auth = FakeAuth()
    try await TestService.with(
        PhotosService.self,
        settings: settings,
        peers: .with(["auth": auth.client].merging(peers) { $1 }),
        now: now,
        makeService: { try await PhotosService($0, $1, changing: change) }
    ) { service in
        func testUser(_ name: String) async throws -> TestUser {
            try await TestUser(User.ID(application: PhotosFixture.application, user: name), at: service, auth)
        }
        let fixture = PhotosFixture(
            service: service,
            auth: auth,
            ann: try await testUser("ann"),
            bob: try await testUser("bob"),
            eve: try await testUser("eve")
        )
        try await body(fixture)
    }
}

/// Runs a second instance of the service over the same database.
func withSecondInstance(
    of fixture: PhotosFixture,
    settings: [String: String] = [:],
    change: (inout PhotosConfiguration) -> Void = { _ in },
    peers: [String: ServiceClient] = [:],
    _ body: (TestService) async throws -> Void
) async throws {
    try await TestService.with(
        PhotosService.self,
        over: fixture.service.database,
        settings: settings,
        peers: .with(["auth": fixture.auth.client].merging(peers) { $1 }),
        makeService: { try await PhotosService($0, $1, changing: change) }
    ) { second in
        try await body(second)
    }
}

extension PhotosService {
    fileprivate init(
        _ resources: ServiceResources,
        _ reader: ConfigReader,
        changing change: (inout PhotosConfiguration) -> Void
    ) async throws {
        var configuration = try PhotosConfiguration(reader)
        change(&configuration)
        try await self.init(resources, reader, configuration)
    }
}
