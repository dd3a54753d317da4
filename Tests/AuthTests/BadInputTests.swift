import AuthAPI
import Foundation
import HTTPTypes
import Postgres
import ServiceClient
import TestSupport
import Testing
import Wire

@Suite("Invalid input") struct BadInputTests {
    /// A body that must be answered with 400, and the field at fault.
    struct InvalidInput: Sendable, CustomTestStringConvertible {
        let path: String
        let body: String
        let field: String?

        var testDescription: String { "\(path) \(body.prefix(60))" }

        init(_ path: String, _ body: String, _ field: String?) {
            (self.path, self.body, self.field) = (path, body, field)
        }
    }

    private static func text(_ count: Int) -> String { String(repeating: "x", count: count) }

    private static let registrations: [InvalidInput] = {
        let good = #""username": "ada", "password": "correct horse""#
        let names = [
            "", text(65), "a@b", "a,b", "a/b", "a\\u0007", "\\u0000", " ada", "ada ", "\\u00a0ada", "ada\\u3000", "a＠b",
            "a，b", "a\\u2028b", "\\u202eada", "\\u200d",
        ]
        return names.map {
            InvalidInput("/auth/register", #"{"username": "\#($0)", "password": "correct horse"}"#, "username")
        }
            + ["7", "null", "[]", "{}", "true"].map {
                InvalidInput("/auth/register", #"{"username": \#($0), "password": "correct horse"}"#, "username")
            }
            + [#""""#, #""seven77""#, "\"\(text(129))\"", #""1234567\u0000""#, "12345678", "null", "[]"].map {
                InvalidInput("/auth/register", #"{"username": "ada", "password": \#($0)}"#, "password")
            }
            + [#""""#, "7", #""x""#, #""@x""#, #""x@""#, #""x@y@z""#, #""x y@z""#, #""x@y..z""#, #""x@y\u0000""#].map {
                InvalidInput("/auth/register", "{\(good), \"email\": \($0)}", "email")
            }
            + [InvalidInput("/auth/register", "{\(good), \"email\": \"x@\(text(253))\"}", "email")]
            + [#""""#, "7", #""   ""#, "\"\(text(101))\"", #""a\u0000""#, #""a\nb""#].map {
                InvalidInput("/auth/register", "{\(good), \"fullName\": \($0)}", "fullName")
            }
            + [
                InvalidInput("/auth/register", #"{"password": "correct horse"}"#, "username"),
                InvalidInput("/auth/register", #"{"username": "ada"}"#, "password"),
                InvalidInput("/auth/register", #"{"username": "\ud800", "password": "correct horse"}"#, "username"),
            ]
    }()

    private static let logins: [InvalidInput] =
        [
            ("username", ["", text(255), "a\\u0000"]),
            ("password", ["", text(129), "12345678\\u0000"]),
            ("deviceId", ["", text(256), "a\\u0000", "a\\n"]),
        ]
        .flatMap { field, values in
            values.map { value in
                var fields = ["username": "ada", "password": "correct horse", "deviceId": "phone"]
                fields[field] = value
                let body = fields.map { "\"\($0.key)\": \"\($0.value)\"" }.joined(separator: ", ")
                return InvalidInput("/auth/login", "{\(body)}", field)
            }
        }
        + [
            InvalidInput("/auth/login", #"{"password": "correct horse"}"#, "username"),
            InvalidInput("/auth/login", #"{"username": "ada"}"#, "password"),
            InvalidInput("/auth/login", #"{"username": ["ada"], "password": "correct horse"}"#, "username"),
            InvalidInput(
                "/auth/login",
                #"{"username": "ada", "password": "correct horse", "deviceId": 7}"#,
                "deviceId"
            ),
        ]

    private static let others: [InvalidInput] =
        ["", #"{}"#, #"{"refreshToken": null}"#, #"{"refreshToken": ""}"#, #"{"refreshToken": 7}"#].map {
            InvalidInput("/auth/refresh", $0, $0.isEmpty ? nil : "refreshToken")
        }
        + [
            InvalidInput("/auth/refresh", #"{"refreshToken": "\#(text(513))"}"#, "refreshToken"),
            InvalidInput("/auth/refresh", #"{"refreshToken": "a\u0000"}"#, "refreshToken"),
            InvalidInput("/auth/refresh", #"{"refreshToken": "a", "deviceId": ""}"#, "deviceId"),
            InvalidInput("/auth/anonymous", #"{"deviceId": 7}"#, "deviceId"),
            InvalidInput("/auth/anonymous", #"{"deviceId": ""}"#, "deviceId"),
        ]

    private static let malformed: [InvalidInput] = ["/auth/register", "/auth/login", "/auth/refresh"].flatMap { path in
        ["", "{", "[]", "7", #""text""#, "null", #"{"username": "ada",}"#, "\u{FEFF}x"].map {
            InvalidInput(path, $0, nil)
        }
            + [
                InvalidInput(
                    path,
                    #"{"a": \#(String(repeating: "[", count: 100))\#(String(repeating: "]", count: 100))}"#,
                    "a"
                )
            ]
    }

    @Test("An invalid body is a 400 that names the field, and stores nothing")
    func invalidInputs() async throws {
        try await withAuth { auth in
            for input in Self.registrations + Self.logins + Self.others + Self.malformed {
                let answer = try await auth.service.send(.post, input.path, body: input.body)
                #expect(answer.status == 400, "\(input.testDescription): \(answer.text)")
                if input.field != nil {
                    #expect(answer.problem?.field == input.field, "\(input.testDescription): \(answer.text)")
                }
            }
            for table in ["accounts", "sessions", "login_failures"] {
                let count = try await auth.service.database.pool.one("SELECT count(*) AS rows FROM \(unsafe: table)") {
                    try $0.int("rows")
                }
                #expect(count == 0, "\(table)")
            }
        }
    }

    @Test(
        "A registration names every invalid field",
        arguments: [
            ("{}", ["password", "username"]),
            (
                #"{"username": "a@b", "email": "x", "fullName": "", "password": "short"}"#,
                [
                    "username", "email", "fullName", "password",
                ]
            ),
            (#"{"username": 7, "email": [], "password": "correct horse"}"#, ["username", "email"]),
            (#"{"username": "ada", "password": "short"}"#, []),
        ]
    )
    func allFields(body: String, fields: [String]) async throws {
        try await withAuth { auth in
            let answer = try await auth.post("/auth/register", body)
            #expect(answer.status == 400)
            #expect(answer.problem?.errors?.map(\.field) ?? [] == fields)
            if let first = fields.first { #expect(answer.problem?.field == first) }
            let login = try await auth.post("/auth/login", "{}")
            #expect(login.problem?.errors?.map(\.field) == ["username", "password"])
        }
    }

    @Test("A body without a content type is a 415, and a missing body is not")
    func noContentType() async throws {
        try await withAuth { auth in
            func send(_ path: String, _ body: String?) async throws -> TestHTTPResponse {
                let request = ServiceRequest(method: .post, path: path, body: body.map { Data($0.utf8) })
                return TestHTTPResponse(try await auth.service.transport.send(request))
            }
            let answer = try await send("/auth/register", #"{"username": "ada", "password": "correct horse"}"#)
            #expect(answer.status == 415)
            #expect(answer.problem?.code == "unsupported_media_type")
            #expect(try await send("/auth/anonymous", #"{"deviceId": "phone"}"#).status == 415)
            #expect(try await send("/auth/anonymous", nil).status == 200)
            #expect(try await send("/auth/register", nil).problem?.code == "missing_body")
        }
    }

    @Test("An invalid change of an account changes no field")
    func invalidPatches() async throws {
        try await withAuth { auth in
            let ada = try await auth.signUp("ada")
            let before = try await auth.me(ada.jwt).json
            for (field, value) in [
                ("fullName", "7"), ("fullName", #""""#), ("fullName", "\"\(Self.text(101))\""),
                ("fullName", #""\u0000""#),
                ("username", "null"), ("username", #""a@b""#), ("username", "[]"), ("username", #""""#),
            ] {
                // Once alone and once beside a valid field, which must not change either.
                let other = field == "fullName" ? "username" : "fullName"
                for body in [#"{"\#(field)": \#(value)}"#, #"{"\#(other)": "changed", "\#(field)": \#(value)}"#] {
                    let answer = try await auth.service.send(.patch, "/auth/me", token: ada.jwt, body: body)
                    #expect(answer.status == 400, "\(body): \(answer.text)")
                    #expect(answer.problem?.field == field, "\(body): \(answer.text)")
                }
            }
            #expect(try await auth.me(ada.jwt).json == before)
        }
    }

    @Test("An invalid form is a 400 that names the field")
    func invalidForms() async throws {
        try await withAuth { auth in
            for (body, field) in [
                ("username=ada", "password"), ("password=correct+horse", "username"), ("", "password"),
                ("username=&email=&password=correct+horse", "username"),
                ("username=a%00&password=correct+horse", "username"),
                ("username=a%40b&password=correct+horse", "username"), ("username=ada&password=short", "password"),
            ] {
                let answer = try await auth.service.send(
                    .post,
                    "/auth/register",
                    body: body,
                    headers: [.contentType: "application/x-www-form-urlencoded"]
                )
                #expect(answer.status == 400, "\(body): \(answer.text)")
                #expect(answer.problem?.field == field, "\(body): \(answer.text)")
            }
        }
    }

    @Test("A body of another media type is a 415, and only registration takes forms")
    func unsupportedMediaType() async throws {
        try await withAuth { auth in
            let body = #"{"username": "ada", "password": "correct horse"}"#
            for type in ["text/plain", "application/xml", "multipart/form-data; boundary=x", "application/jsonx"] {
                for path in ["/auth/register", "/auth/login", "/auth/refresh", "/auth/anonymous"] {
                    let answer = try await auth.post(path, body, headers: [.contentType: type])
                    #expect(answer.status == 415, "\(type) \(path)")
                }
            }
            let form: HTTPFields = [.contentType: "application/x-www-form-urlencoded"]
            #expect(try await auth.service.send(.post, "/auth/login", body: "username=a", headers: form).status == 415)
        }
    }

    @Test("A body that is too large is a 413")
    func largeBody() async throws {
        try await withAuth { auth in
            let body = #"{"username": "\#(Self.text(3_000_000))", "password": "correct horse"}"#
            for path in ["/auth/register", "/auth/login", "/auth/refresh", "/auth/anonymous"] {
                let answer = try await auth.post(path, body)
                #expect(answer.status == 413)
            }
        }
    }

    @Test("An unknown path is a 404 and another method a 405 with the allowed ones")
    func unknownRoutes() async throws {
        try await withAuth { auth in
            #expect(try await auth.service.send(.get, "/auth/nothing").status == 404)
            #expect(try await auth.service.send(.get, "/auth/register").status == 405)
            let answer = try await auth.service.send(.put, "/auth/me")
            #expect(answer.status == 405)
            #expect(answer.headers[.allow] == "DELETE, GET, HEAD, PATCH")
        }
    }

    @Test(
        "An invalid page size is a 400",
        arguments: ["limit=0", "limit=101", "limit=x", "limit=", "limit=1.5", "limit=-1"]
    )
    func invalidLimit(_ query: String) async throws {
        try await withAuth { auth in
            let ada = try await auth.signUp("ada")
            let answer = try await auth.service.send(.get, "/auth/sessions?\(query)", token: ada.jwt)
            #expect(answer.status == 400)
            #expect(answer.problem?.field == "limit")
        }
    }
}
