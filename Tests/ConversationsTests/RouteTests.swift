import TestSupport
import Testing

/// The routes of the service and those of `docs/openapi.yaml`.
@Suite("Routes") struct RouteTests {
    @Test("The routes are exactly those that `docs/openapi.yaml` describes")
    func documentation() async throws {
        // The other routes below /media belong to photos.
        let described = try PublicRoute.below("conversations", "blocks", "media").filter {
            !$0.description.hasSuffix("/media/{key}")
        }
        try await withConversation { fixture in
            #expect(fixture.service.publicRoutes.sorted() == described.map(\.description).sorted())
        }
    }

    @Test("Every route rejects a request without authentication")
    func unauthenticated() async throws {
        let described = try PublicRoute.below("conversations", "blocks")
        try await withConversation { fixture in
            for route in described {
                let status = try await fixture.service.send(route.method, route.path).status
                #expect(status == 403, "\(route): \(status)")
                #expect(!route.isOpen, "\(route): \(status)")
            }
        }
    }

    @Test("The number of slow bodies of one user is limited on every route")
    func slowBodies() async throws {
        let described = try PublicRoute.below("conversations", "blocks")
        try await withConversation { fixture in
            try await fixture.service.sendSlowBodies(to: described, token: fixture.ana.token)
        }
    }
}
