import TestSupport
import Testing

@Suite("Routes of auth") struct RouteTests {
    @Test("The routes are those in docs/openapi.yaml")
    func openAPI() async throws {
        let described = try PublicRoute.below("1", "applications", "auth", "oauth", ".well-known")
        try await withAuth { auth in
            #expect(auth.service.publicRoutes.sorted() == described.map(\.description).sorted())
        }
    }

    @Test("Exactly the routes that need a credential answer 403 without one")
    func openRoutes() async throws {
        let described = try PublicRoute.below("1", "applications", "auth", "oauth", ".well-known")
        try await withAuth { auth in
            // The routes under `/1` need an application's headers instead.
            for route in described where !route.template.hasPrefix("/1/") {
                let status = try await auth.service.send(route.method, route.path).status
                #expect((status == 403) == !route.isOpen, "\(route): \(status)")
            }
        }
    }
}
