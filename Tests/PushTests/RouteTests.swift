import TestSupport
import Testing

/// Push's routes are those that `docs/openapi.yaml` describes.
@Suite struct RouteTests {
    static let words = ["devices", "notification-settings", "notifications/log", "subscriptions", "push", "topics"]

    @Test func everyRouteIsDescribedAndEveryDescriptionIsServed() async throws {
        let described = try PublicRoute.below(Self.words)
        try await withPush { scene in
            #expect(scene.service.publicRoutes.sorted() == described.map(\.description).sorted())
        }
    }

    @Test func whoIsNotSignedInGetsNowhere() async throws {
        let described = try PublicRoute.below(Self.words).filter { !$0.isOpen }
        try await withPush { scene in
            for route in described {
                let status = try await scene.service.send(route.method, route.path).status
                #expect(status == 403, "\(route): \(status)")
            }
        }
    }

    @Test("The slow bodies that one user sends are bounded on every route")
    func slowBodies() async throws {
        let described = try PublicRoute.below(Self.words)
        try await withPush { scene in
            try await scene.service.sendSlowBodies(to: described, token: scene.ann.token)
        }
    }
}
