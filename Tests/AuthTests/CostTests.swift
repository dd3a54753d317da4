import HTTPTypes
import TestSupport
import Testing
import Wire

/// The processor time that hostile bodies cost.
@Suite("Cost of requests") struct CostTests {
    /// These routes end the session that the test needs.
    private static let excepted = ["POST /auth/logout", "POST /auth/logout/all", "DELETE /auth/me"]

    @Test("Every route reads or refuses hostile JSON within 50 ms of processor time per 100 kB")
    func routes() async throws {
        let described = try PublicRoute.below("1", "applications", "auth", "oauth")
            .filter { !Self.excepted.contains($0.description) }
        try await withAuth { auth in
            let ann = try await auth.signUp("ann")
            try await CostTest.check(described) { route, body in
                try await auth.service.send(route.method, route.path, token: ann.jwt, body: body).status
            }
        }
    }

    @Test("A form with nested or many fields is refused")
    func forms() async throws {
        try await withAuth { auth in
            let form: HTTPFields = [.contentType: "application/x-www-form-urlencoded"]
            let nested = "username" + String(repeating: "[a]", count: 4_000) + "=x"
            let encoded = "username" + String(repeating: "%5Ba%5D", count: 2_000) + "=x"
            let many = Array(repeating: "a=b", count: 3_000).joined(separator: "&")
            for body in [nested, encoded, many] {
                let answer = try await auth.service.send(.post, "/auth/register", body: body, headers: form)
                #expect(answer.status == 400)
            }
        }
    }

    @Test("A form's fields have the limits of JSON strings")
    func texts() async throws {
        try await withAuth { auth in
            let form: HTTPFields = [.contentType: "application/x-www-form-urlencoded"]
            let marks = String(repeating: "%CC%81", count: 129)
            let raw = String(repeating: "\u{301}\u{316}", count: 3_000)
            // A combining mark after the zero changes the character, but not the byte.
            for (body, code) in [
                ("username=ada&password=\(marks)", "too_many_combining_marks"),
                ("username=\(raw)&password=x", "too_many_combining_marks"),
                ("username=a%00\u{301}&password=x", "nul_character"), ("username=%FF%00&password=x", "malformed_body"),
                ("\(marks)=x", "too_many_combining_marks"),
            ] {
                let answer = try await auth.service.send(.post, "/auth/register", body: body, headers: form)
                #expect(answer.status == 400)
                #expect(answer.problem?.code == code)
            }
        }
    }
}
