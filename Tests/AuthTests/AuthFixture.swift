import AuthAPI
import Foundation
import HTTPTypes
import Logging
import ServiceHost
import Synchronization
import TestSupport
import Testing
import Wire

@testable import AuthServer

/// Auth over a database of the test's own, and the actions of its users.
struct Auth: Sendable {
    static let key = Data(repeating: 7, count: 32).base64EncodedString()
    static let password = "correct horse battery staple"

    let service: TestService

    /// An account with the tokens of one session.
    struct Person: Sendable {
        var username: String
        var userId: String
        var jwt: String
        var refreshToken: String
    }

    /// Runs auth's re-encryption with these keys, the current one first.
    func reencrypt(keys: String) async throws {
        let report = try await Reencryption(
            AuthService.encrypted,
            database: service.database.pool,
            encryptor: try TokenEncryptor(keys: keys),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        ).run()
        #expect(report.unreadable == 0)
    }

    func register(_ username: String, password: String = Auth.password) async throws -> String {
        let answer = try await service.send(
            .post,
            "/auth/register",
            body: json(["username": .string(username), "password": .string(password)])
        )
        try #require(answer.status == 200, "\(answer.text)")
        return try answer.decode(RegistrationResult.self).userId
    }

    func login(
        _ username: String,
        password: String = Auth.password,
        device: String? = nil,
        address: String? = nil,
        userAgent: String? = nil
    ) async throws -> TestHTTPResponse {
        var body: [String: JSONValue] = ["username": .string(username), "password": .string(password)]
        body["deviceId"] = device.map { .string($0) }
        var headers = HTTPFields()
        if let address, let name = HTTPField.Name("X-Forwarded-For") { headers[name] = address }
        headers[.userAgent] = userAgent
        return try await service.send(.post, "/auth/login", body: json(body), headers: headers)
    }

    func signUp(_ username: String, device: String? = nil) async throws -> Person {
        _ = try await register(username)
        return try await signIn(username, device: device)
    }

    func signIn(_ username: String, device: String? = nil) async throws -> Person {
        let answer = try await login(username, device: device)
        try #require(answer.status == 200, "\(answer.text)")
        return try person(answer, username)
    }

    func anonymous(device: String? = nil) async throws -> Person {
        let body = device.map { json(["deviceId": .string($0)]) }
        return try person(try await service.send(.post, "/auth/anonymous", body: body), "")
    }

    func refresh(_ token: String, device: String? = nil) async throws -> TestHTTPResponse {
        var body: [String: JSONValue] = ["refreshToken": .string(token)]
        body["deviceId"] = device.map { .string($0) }
        return try await service.send(.post, "/auth/refresh", body: json(body))
    }

    /// Refreshes, and returns the new refresh token.
    func next(_ token: String, device: String? = nil) async throws -> String {
        let answer = try await refresh(token, device: device)
        try #require(answer.status == 200, "\(answer.text)")
        return try answer.decode(SignIn.self).refreshToken
    }

    func post(
        _ path: String,
        _ text: String,
        token: String? = nil,
        headers: HTTPFields = [:]
    ) async throws -> TestHTTPResponse {
        try await service.send(.post, path, token: token, body: text, headers: headers)
    }

    func me(_ jwt: String?) async throws -> TestHTTPResponse {
        try await service.send(.get, "/auth/me", token: jwt)
    }

    /// The periodic cleanup, run by the clock of the test.
    func retention(by clock: TestClock) -> Retention {
        let database = service.database.pool
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let feed = RevocationFeed(
            database: database,
            lifetime: AuthConfiguration().revocationLifetime,
            logger: logger,
            now: { clock.now },
            onRevoked: { _ in }
        )
        return Retention(
            database: database,
            sessionRevocations: SessionRevocations(
                database: database,
                events: .none,
                feed: feed,
                audit: Audit(
                    events: .none,
                    emailOutbox: EmailOutbox(isOn: false, now: { clock.now }, notify: {}),
                    now: { clock.now }
                ),
                now: { clock.now }
            ),
            configuration: AuthConfiguration(),
            logger: logger,
            now: { clock.now }
        )
    }

    func person(_ answer: TestHTTPResponse, _ username: String) throws -> Person {
        let signIn = try answer.decode(SignIn.self)
        return Person(
            username: username,
            userId: signIn.userId,
            jwt: signIn.jwt,
            refreshToken: signIn.refreshToken
        )
    }
}

/// Starts auth, and stops it at the end of the scope; `change` sets other values of constants.
func withAuth(
    settings: [String: String] = [:],
    clock: TestClock? = nil,
    change: (inout AuthConfiguration) -> Void = { _ in },
    _ body: @Sendable (Auth) async throws -> Void
) async throws {
    try await TestService.with(
        AuthService.self,
        settings: ["TOKEN_ENCRYPTION_KEY": Auth.key, "APPLICATIONS_OPEN": "1"].merging(settings) { $1 },
        now: { clock?.now ?? Date() },
        makeService: { resources, reader in
            var configuration = try AuthConfiguration(reader)
            change(&configuration)
            return try await AuthService(resources, reader, configuration)
        }
    ) { service in try await body(Auth(service: service)) }
}

/// Starts two instances of auth over one database.
func withTwoAuths(
    settings: [String: String] = [:],
    _ body: @Sendable (Auth, Auth) async throws -> Void
) async throws {
    let settings = ["TOKEN_ENCRYPTION_KEY": Auth.key, "APPLICATIONS_OPEN": "1"].merging(settings) { $1 }
    try await TestService.with(AuthService.self, settings: settings) { first in
        try await TestService.with(AuthService.self, over: first.database, settings: settings) { second in
            try await body(Auth(service: first), Auth(service: second))
        }
    }
}

/// A clock that only advances when a test says so.
final class TestClock: Sendable {
    private let time: Mutex<Date>

    init() {
        // Tokens have whole seconds.
        time = Mutex(Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded()))
    }

    var now: Date { time.withLock { $0 } }

    func advance(seconds: Double) {
        time.withLock { $0 += seconds }
    }
}

func json(_ fields: [String: JSONValue]) -> String {
    // Any JSONValue can be encoded.
    String(decoding: (try? JSONValue.object(fields).compact()) ?? Data(), as: UTF8.self)
}

func json(_ value: JSONValue) -> String {
    String(decoding: (try? value.compact()) ?? Data(), as: UTF8.self)
}
