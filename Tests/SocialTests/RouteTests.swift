import TestSupport
import Testing

@Suite("Routes of social") struct RouteTests {
    private static func described() throws -> [PublicRoute] {
        try PublicRoute.below(
            "networks",
            "feed",
            "messages",
            "notifications",
            "scroll",
            "webhooks",
            "stream",
            "broadcasts"
        )
        // The log of notifications belongs to push.
        .filter { $0.template != "/notifications/log" }
    }

    @Test("The routes are those of `docs/openapi.yaml`")
    func openAPI() async throws {
        let described = try Self.described()
        try await withSocial { fixture in
            #expect(fixture.service.publicRoutes.sorted() == described.map(\.description).sorted())
        }
    }

    @Test("A request without credentials responds 403 on every route that is not open")
    func authentication() async throws {
        let described = try Self.described().filter { !$0.isOpen }
        try await withSocial { fixture in
            for route in described {
                let status = try await fixture.service.send(route.method, route.path).status
                #expect(status == 403, "\(route): \(status)")
            }
        }
    }

    @Test("The number of slow request bodies per user is limited on every route")
    func slowBodies() async throws {
        let described = try Self.described()
        try await withSocial { fixture in
            try await fixture.service.sendSlowBodies(to: described, token: fixture.ann.token)
        }
    }
}
