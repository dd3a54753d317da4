import TestSupport
import Testing

@Suite("Routes of push") struct RouteTests {
    static let prefixes = ["devices", "notification-settings", "notifications/log", "subscriptions", "push", "topics"]

    @Test("The routes are those that docs/openapi.yaml describes")
    func openAPI() async throws {
        let described = try PublicRoute.below(Self.prefixes)
        try await withPush { fixture in
            #expect(fixture.service.publicRoutes.sorted() == described.map(\.description).sorted())
        }
    }

    @Test("Every route that is not open requires authentication")
    func authenticationRequired() async throws {
        let described = try PublicRoute.below(Self.prefixes).filter { !$0.isOpen }
        try await withPush { fixture in
            for route in described {
                let status = try await fixture.service.send(route.method, route.path).status
                #expect(status == 403, "\(route): \(status)")
            }
        }
    }

    @Test("The slow bodies that one user sends are bounded on every route")
    func slowBodies() async throws {
        let described = try PublicRoute.below(Self.prefixes)
        try await withPush { fixture in
            try await fixture.service.sendSlowBodies(to: described, token: fixture.ann.token)
        }
    }
}
