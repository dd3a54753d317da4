import TestSupport
import Testing

@Suite("Cost of requests") struct CostTests {
    @Test("Every route reads or refuses hostile JSON within 50 ms of processor time per 100 kB")
    func routes() async throws {
        let described = try PublicRoute.below(RouteTests.prefixes)
        try await withPush { fixture in
            try await CostTest.check(described) { route, body in
                try await fixture.ann.ask(route.method, route.path, body).status
            }
        }
    }
}
