import Configuration
import CoreMetrics
import Credentials
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import NIOHTTP1
import Postgres
import ServiceClient
import ServiceHost
import Synchronization
import Testing
import TestSupport
import Wire

@Suite("Service host") struct ServiceHostTests {
    private let keys = TestKeys()
    private let ana = User.ID(application: RoostApplication.id, user: "ana")

    private func withEcho(_ body: @Sendable (TestService) async throws -> Void) async throws {
        let auth = ServiceClient(callee: "auth", transport: AuthTransport(keys))
        try await TestService.with(EchoService.self, peers: .with(["auth": auth]), body)
    }

    @Test("An error is a problem document with request id and trace")
    func anonymousRequests() async throws {
        try await withEcho { echo in
            let answers = [
                (try await echo.send(.get, "/words/x"), 403, "authentication_required"),
                (try await echo.send(.get, "/words/x", token: "rubbish"), 403, "invalid_token"),
                (try await echo.send(.get, "/nowhere"), 404, "not_found"),
                (try await echo.send(.delete, "/words"), 405, "method_not_allowed"),
                (try await echo.send(.delete, "/words/x"), 405, "method_not_allowed"),
            ]
            for (answer, status, code) in answers {
                #expect(answer.status == status)
                #expect(answer.problem?.code == code)
                #expect(answer.headers[.contentType] == Problem.mediaType)
                #expect(answer.problem?.requestId == answer.headers[.requestID])
                #expect(answer.headers[.traceparent]?.utf8.count == 55)
            }
            #expect(answers[3].0.headers[.allow] == "POST")
            #expect(answers[4].0.headers[.allow] == "GET, HEAD")
        }
    }

    @Test("HEAD is answered like GET without a body")
    func head() async throws {
        try await withEcho { echo in
            let token = try await keys.token(for: ana)
            let whole = try await echo.send(.get, "/words/x", token: token)
            let head = try await echo.send(.head, "/words/x", token: token)

            #expect(head.status == 200)
            #expect(head.body.isEmpty)
            #expect(head.headers[.contentLength] == "\(whole.body.count)")
            #expect(try await echo.send(.head, "/words", token: token).status == 405)
        }
    }

    @Test("A draining service is not ready, and closes connections after their response")
    func draining() async throws {
        try await withEcho { echo in
            #expect(try await echo.send(.get, "/ready").status == 200)
            #expect(try await echo.send(.get, "/open").headers[.connection] == nil)

            // No client is connected, so it does not wait.
            await echo.assembled.drain.drain()

            let ready = try await echo.send(.get, "/ready")
            #expect(ready.status == 503)
            #expect(ready.headers[.retryAfter] == "1")
            #expect(try await echo.send(.get, "/health").status == 200)
            let answer = try await echo.send(.get, "/open")
            #expect(answer.status == 200)
            #expect(answer.headers[.connection] == "close")
        }
    }

    @Test("Two credentials are refused")
    func twoCredentials() async throws {
        try await withEcho { echo in
            let token = try await keys.token(for: ana)
            var headers: HTTPFields = [.authorization: "Bearer \(token)"]
            headers.append(HTTPField(name: .authorization, value: "Bearer \(token)"))

            #expect(try await echo.send(.get, "/words/x", headers: headers).status == 403)
            #expect(try await echo.send(.get, "/words/x", headers: [.authorization: "Basic eDp5"]).status == 403)
            #expect(try await echo.send(.get, "/words/x", headers: [.authorization: "bearer \(token)"]).status == 200)
        }
    }

    @Test("An open route treats an invalid credential like a missing one")
    func openRoute() async throws {
        try await withEcho { echo in
            let token = try await keys.token(for: ana)

            #expect(try await echo.send(.get, "/open").json["word"].string == "nobody")
            #expect(try await echo.send(.get, "/open", token: "rubbish").json["word"].string == "nobody")
            #expect(try await echo.send(.get, "/open", token: token).json["word"].string == "ana")
        }
    }

    @Test("An escaped slash does not divide a path, and a literal segment takes precedence over a parameter")
    func pathSegments() async throws {
        try await withEcho { echo in
            let token = try await keys.token(for: ana)

            #expect(try await echo.send(.get, "/words/a%2Fb", token: token).json["word"].string == "a/b")
            #expect(try await echo.send(.get, "/words/fixed", token: token).json["word"].string == "fixed word")
            #expect(try await echo.send(.get, "/words/%00", token: token).status == 404)
        }
    }

    @Test("A parameter has at most 128 combining marks in a row")
    func marks() async throws {
        try await withEcho { echo in
            let token = try await keys.token(for: ana)
            for (count, status) in [(128, 200), (129, 400)] {
                let marks = String(repeating: "%CC%81", count: count)
                for name in ["word", "words"] {
                    let answer = try await echo.send(.get, "/asked?\(name)=e\(marks)")
                    #expect(answer.status == status)
                    if status == 400 { #expect(answer.problem?.code == "too_many_combining_marks") }
                }
                let answer = try await echo.send(.get, "/words/e\(marks)", token: token)
                #expect(answer.status == (status == 200 ? 200 : 404))
            }
        }
    }

    @Test("An unknown error is a 500 without details")
    func internalErrors() async throws {
        try await withEcho { echo in
            let token = try await keys.token(for: ana)
            _ = try await echo.send(.post, "/words", token: token, body: #"{"word":"once"}"#)

            let answers = [
                try await echo.send(.get, "/broken"),
                try await echo.send(.post, "/words", token: token, body: #"{"word":"once"}"#),
            ]
            for answer in answers {
                #expect(answer.status == 500)
                #expect(answer.problem?.code == "internal")
                #expect(!answer.text.contains("words_key"))
            }
        }
    }

    @Test("A connection that closes within a body is no failure of the service")
    func abortedBody() {
        for error in [HTTPParserError.invalidEOFState, .closedConnection, .invalidChunkSize] {
            #expect(APIError(known: error)?.kind == .invalid)
            #expect(APIError(known: error)?.code == "incomplete_body")
        }
    }

    @Test("A valid request id is kept, another one is replaced")
    func requestID() async throws {
        try await withEcho { echo in
            let kept = try await echo.send(.get, "/open", headers: [.requestID: "my-id_1.x"])
            let replaced = try await echo.send(.get, "/open", headers: [.requestID: "a b\"c"])

            #expect(kept.headers[.requestID] == "my-id_1.x")
            #expect(replaced.headers[.requestID] != "a b\"c")
            #expect(replaced.headers[.requestID]?.isEmpty == false)
        }
    }

    @Test("An internal route admits only the services that it lists", arguments: ["photos", "gateway", "roost"])
    func callerNotAllowed(caller: String) async throws {
        try await withEcho { echo in
            let error = await #expect(throws: APIError.self) {
                try await echo.peerClient(caller, callee: "echo").get("/internal/caller", as: EchoService.Word.self)
            }
            #expect(error?.code == "caller_not_allowed")
            #expect(error?.kind == .forbidden)
        }
    }

    @Test("An internal route needs a service token for this service")
    func internalRouteAccess() async throws {
        try await withEcho { echo in
            let userToken = try await keys.token(for: ana)
            let word = try await echo.peerClient("push", callee: "echo").get(
                "/internal/caller",
                as: EchoService.Word.self
            )

            #expect(word.word == "push")
            #expect(try await echo.send(.get, "/internal/caller").status == 403)
            #expect(try await echo.send(.get, "/internal/caller", token: userToken).status == 403)
            await #expect(throws: APIError.self) {
                try await echo.peerClient("push", callee: "auth").get("/internal/caller", as: EchoService.Word.self)
            }
        }
    }

    @Test("A body needs a supported type and has a maximum size")
    func bodies() async throws {
        try await withEcho { echo in
            let token = try await keys.token(for: ana)
            func post(_ body: String, _ type: String) async throws -> TestHTTPResponse {
                try await echo.send(.post, "/words", token: token, body: body, headers: [.contentType: type])
            }

            #expect(try await post(#"{"word":"x"}"#, "text/plain").status == 415)
            #expect(try await post("word=x", "application/x-www-form-urlencoded").status == 415)
            #expect(try await post(#"{"word":"y"}"#, "application/json; charset=utf-8").status == 200)
            for (coding, status) in [("gzip", 415), ("br", 415), ("identity", 200)] {
                let headers: HTTPFields = [.contentType: "application/json", .contentEncoding: coding]
                let answer = try await echo.send(
                    .post,
                    "/words",
                    token: token,
                    body: #"{"word":"\#(coding)"}"#,
                    headers: headers
                )
                #expect(answer.status == status)
            }
            #expect(try await post(#"{"word":7}"#, "application/json").problem?.field == "word")
            let large = String(repeating: "x", count: JSONLimits.body.bytes)
            #expect(try await post(#"{"word":"\#(large)"}"#, "application/json").status == 413)
        }
    }

    @Test("A service without its database is not ready, but healthy")
    func readiness() async throws {
        try await withEcho { echo in
            #expect(try await echo.send(.get, "/ready").status == 200)

            await echo.database.pool.shutdown()

            let answer = try await echo.send(.get, "/ready")
            #expect(answer.status == 503)
            #expect(answer.headers[.retryAfter] != nil)
            #expect(try await echo.send(.get, "/health").status == 200)
        }
    }
}
