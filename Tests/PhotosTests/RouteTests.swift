import TestSupport
import Testing

/// Photos' routes are those that `docs/openapi.yaml` describes.
@Suite struct RouteTests {
    /// `/media/conversations` is another's.
    private static func described() throws -> [PublicRoute] {
        try PublicRoute.below("photos", "media").filter { !$0.template.hasPrefix("/media/conversations") }
    }

    @Test func documentedRoutes() async throws {
        let described = try Self.described()
        try await withPhotos { fixture in
            #expect(fixture.service.publicRoutes.sorted() == described.map(\.description).sorted())
        }
    }

    @Test func unauthenticated() async throws {
        let described = try Self.described().filter { !$0.isOpen }
        try await withPhotos { fixture in
            for route in described {
                let status = try await fixture.service.send(route.method, route.path).status
                #expect(status == 403, "\(route): \(status)")
            }
        }
    }

    @Test("The slow bodies that one user sends are bounded on every route")
    func slowBodies() async throws {
        let described = try Self.described()
        try await withPhotos { fixture in
            try await fixture.service.sendSlowBodies(to: described, token: fixture.ann.token)
        }
    }
}
