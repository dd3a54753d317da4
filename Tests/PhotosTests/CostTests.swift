import TestSupport
import Testing

@Suite("Cost of requests") struct CostTests {
    @Test("Every route accepts or rejects hostile JSON within 50 ms of processor time per 100 kB")
    func routes() async throws {
        let described = try PublicRoute.below("photos")
        try await withPhotos { fixture in
            try await CostTest.check(described) { route, body in
                try await fixture.ann.ask(route.method, route.path, body).status
            }
        }
    }
}
