import TestSupport
import Testing

/// Social's routes are those that `docs/openapi.yaml` describes.
@Suite struct RouteTests {
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
        // What was sent to devices is push's to tell.
        .filter { $0.template != "/notifications/log" }
    }

    @Test func openAPI() async throws {
        let described = try Self.described()
        try await withSocial { fixture in
            #expect(fixture.service.publicRoutes.sorted() == described.map(\.description).sorted())
        }
    }

    @Test func authentication() async throws {
        let described = try Self.described().filter { !$0.isOpen }
        try await withSocial { fixture in
            for route in described {
                let status = try await fixture.service.send(route.method, route.path).status
                #expect(status == 403, "\(route): \(status)")
            }
        }
    }

    @Test("The slow bodies that one user sends are bounded on every route")
    func slowBodies() async throws {
        let described = try Self.described()
        try await withSocial { fixture in
            try await fixture.service.sendSlowBodies(to: described, token: fixture.ann.token)
        }
    }
}
