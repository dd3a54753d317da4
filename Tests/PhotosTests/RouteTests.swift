import TestSupport
import Testing

@Suite("Routes of photos") struct RouteTests {
    /// Returns the documented routes; `/media/conversations` belongs to another service.
    private static func described() throws -> [PublicRoute] {
        try PublicRoute.below("photos", "media").filter { !$0.template.hasPrefix("/media/conversations") }
    }

    @Test("The routes are those of `docs/openapi.yaml`")
    func documentedRoutes() async throws {
        let described = try Self.described()
        try await withPhotos { fixture in
            #expect(fixture.service.publicRoutes.sorted() == described.map(\.description).sorted())
        }
    }

    @Test("A request without credentials responds 403 on every route that is not open")
    func unauthenticated() async throws {
        let described = try Self.described().filter { !$0.isOpen }
        try await withPhotos { fixture in
            for route in described {
                let status = try await fixture.service.send(route.method, route.path).status
                #expect(status == 403, "\(route): \(status)")
            }
        }
    }

    @Test("The number of slow request bodies per user is limited on every route")
    func slowBodies() async throws {
        let described = try Self.described()
        try await withPhotos { fixture in
            try await fixture.service.sendSlowBodies(to: described, token: fixture.ann.token)
        }
    }
}
