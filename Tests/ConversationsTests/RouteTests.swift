import TestSupport
import Testing

/// Conversations' routes are those that `docs/openapi.yaml` describes.
@Suite struct RouteTests {
    @Test func everyRouteIsDescribedAndEveryDescriptionIsServed() async throws {
        // What else is below /media is of photos.
        let described = try PublicRoute.below("conversations", "blocks", "media").filter {
            !$0.description.hasSuffix("/media/{key}")
        }
        try await withConversation { fixture in
            #expect(fixture.service.publicRoutes.sorted() == described.map(\.description).sorted())
        }
    }

    @Test func unauthenticatedUpload() async throws {
        let described = try PublicRoute.below("conversations", "blocks")
        try await withConversation { fixture in
            for route in described {
                let status = try await fixture.service.send(route.method, route.path).status
                #expect(status == 403, "\(route): \(status)")
                #expect(!route.isOpen, "\(route): \(status)")
            }
        }
    }

    @Test("The slow bodies that one user sends are bounded on every route")
    func slowBodies() async throws {
        let described = try PublicRoute.below("conversations", "blocks")
        try await withConversation { fixture in
            try await fixture.service.sendSlowBodies(to: described, token: fixture.ann.token)
        }
    }
}
