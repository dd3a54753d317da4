import TestSupport
import Testing

/// Auth's routes are those that `docs/openapi.yaml` describes.
@Suite struct RouteTests {
    @Test func openAPI() async throws {
        let described = try PublicRoute.below("1", "applications", "auth", "oauth", ".well-known")
        try await withAuth { auth in
            #expect(auth.service.publicRoutes.sorted() == described.map(\.description).sorted())
        }
    }

    @Test func openRoutes() async throws {
        let described = try PublicRoute.below("1", "applications", "auth", "oauth", ".well-known")
        try await withAuth { auth in
            // Those of `/1` ask for an application's headers instead.
            for route in described where !route.template.hasPrefix("/1/") {
                let status = try await auth.service.send(route.method, route.path).status
                #expect((status == 403) == !route.isOpen, "\(route): \(status)")
            }
        }
    }
}
