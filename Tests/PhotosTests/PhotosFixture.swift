import AuthAPI
import Foundation
import HTTPTypes
import PhotosAPI
import PhotosServer
import Postgres
import ServiceClient
import ServiceHost
import TestSupport
import Wire

/// The service, and people signed in.
struct Scene: Sendable {
    let service: TestService
    let auth: AuthStandIn
    let ann: Player
    let bob: Player
    let eve: Player

    static let application = "other"

    /// Somebody signed in, of the application that the scene plays in unless told otherwise; he has not been seen yet.
    func player(
        _ name: String,
        application: String = Scene.application,
        scope: String? = nil
    ) async throws -> Player {
        try await Player(User.ID(application: application, user: name), scope: scope, at: service, auth)
    }

    /// One of Roost's own accounts, whose name auth knows.
    func account(_ name: String, scope: String? = nil) async throws -> Player {
        let id = UUID().uuidString.lowercased()
        auth.names.change { $0[id] = name }
        return try await player(id, application: RoostApplication.id, scope: scope)
    }

    /// What a query answers in its column `row`.
    func rows(_ query: String) async throws -> [String] {
        try await service.database.pool.all(PostgresQuery(sql: query), as: { try $0.string("row") })
    }
}

/// Somebody signed in at the service.
struct Player: SignedIn {
    let id: User.ID
    let token: String
    let service: TestService
    let photos: PhotosClient

    init(_ id: User.ID, scope: String? = nil, at service: TestService, _ auth: AuthStandIn) async throws {
        let token = try await auth.keys.token(for: id, scope: scope)
        self.id = id
        self.token = token
        self.service = service
        photos = PhotosClient(
            ServiceClient(callee: "photos", transport: service.transport, retry: .never) { "Bearer \(token)" }
        )
    }
}

func withPhotos(
    settings: [String: String] = [:],
    neighbours: [String: ServiceClient] = [:],
    now: @escaping @Sendable () -> Date = { Date() },
    _ body: (Scene) async throws -> Void
) async throws {
    let auth = AuthStandIn()
    try await TestService.with(
        PhotosService.self,
        settings: settings,
        neighbours: .with(["auth": auth.client].merging(neighbours) { $1 }),
        now: now
    ) { service in
        func player(_ name: String) async throws -> Player {
            try await Player(User.ID(application: Scene.application, user: name), at: service, auth)
        }
        let scene = Scene(
            service: service,
            auth: auth,
            ann: try await player("ann"),
            bob: try await player("bob"),
            eve: try await player("eve")
        )
        try await body(scene)
    }
}

/// A second instance of the service over the same database.
func withSecondInstance(
    of scene: Scene,
    settings: [String: String] = [:],
    neighbours: [String: ServiceClient] = [:],
    _ body: (TestService) async throws -> Void
) async throws {
    try await TestService.with(
        PhotosService.self,
        over: scene.service.database,
        settings: settings,
        neighbours: .with(["auth": scene.auth.client].merging(neighbours) { $1 })
    ) { second in
        try await body(second)
    }
}
