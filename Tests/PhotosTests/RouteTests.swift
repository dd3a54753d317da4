import TestSupport
import Testing

/// Photos' routes are those that `docs/openapi.yaml` describes.
@Suite struct RouteTests {
    /// `/media/conversations` is another's.
    private static func described() throws -> [PublicRoute] {
        try PublicRoute.below("photos", "media").filter { !$0.template.hasPrefix("/media/conversations") }
    }

    @Test func everyRouteIsDescribedAndEveryDescriptionIsServed() async throws {
        let described = try Self.described()
        try await withPhotos { scene in
            #expect(scene.service.publicRoutes.sorted() == described.map(\.description).sorted())
        }
    }

    @Test func whoIsNotSignedInGetsNowhere() async throws {
        let described = try Self.described().filter { !$0.isOpen }
        try await withPhotos { scene in
            for route in described {
                let status = try await scene.service.send(route.method, route.path).status
                #expect(status == 403, "\(route): \(status)")
            }
        }
    }

    @Test("The slow bodies that one user sends are bounded on every route")
    func slowBodies() async throws {
        let described = try Self.described()
        try await withPhotos { scene in
            try await scene.service.sendSlowBodies(to: described, token: scene.ann.token)
        }
    }
}
