import AuthAPI
import Credentials
import Crypto
import CryptoExtras
import Foundation
import HTTPTypes
import TestSupport
import Testing
import Wire

@testable import AuthServer

/// A customer: an application, the account server that signs for it, and the actions of its users.
struct Customer: Sendable {
    let auth: Auth
    let id: String
    let applicationKey: String
    let keyID: String
    let key: _RSA.Signing.PrivateKey
    /// An administrator's jwt.
    let admin: String

    var headers: HTTPFields { Self.headers(id, applicationKey) }

    static func headers(_ id: String?, _ key: String?) -> HTTPFields {
        var headers = HTTPFields()
        if let name = HTTPField.Name("x-diuit-application-id") { headers[name] = id }
        if let name = HTTPField.Name("x-diuit-app-key") { headers[name] = key }
        return headers
    }

    func nonce() async throws -> String {
        let answer = try await auth.service.send(.get, "/1/auth/nonce", headers: headers)
        try #require(answer.status == 200, "\(answer.text)")
        return try #require(answer.json["nonce"].string)
    }

    /// The header of a valid token.
    var header: [String: JSONValue] {
        ["typ": "JWT", "alg": "RS256", "cty": "diuit-auth;v=1", "kid": .string(keyID)]
    }

    /// The claims of a valid token.
    func claims(_ user: String, nonce: String, lifetime: Double = 3_600, now: Date = Date()) -> [String: JSONValue] {
        [
            "iss": .string(id), "sub": .string(user), "nonce": .string(nonce),
            "iat": .string(Timestamp.string(from: now)),
            "exp": .string(Timestamp.string(from: now.addingTimeInterval(lifetime))),
        ]
    }

    func input(_ header: [String: JSONValue], _ claims: [String: JSONValue]) throws -> String {
        let parts = [header, claims].map { Base64URL.encode(Data(json($0).utf8)) }
        return parts.joined(separator: ".")
    }

    /// A signed token, valid unless an argument makes it invalid.
    func token(
        _ claims: [String: JSONValue],
        header: [String: JSONValue]? = nil,
        signedBy key: _RSA.Signing.PrivateKey? = nil
    ) throws -> String {
        let input = try input(header ?? self.header, claims)
        let signature = try (key ?? self.key)
            .signature(for: SHA256.hash(data: Data(input.utf8)), padding: .insecurePKCS1v1_5)
        return "\(input).\(Base64URL.encode(signature.rawRepresentation))"
    }

    func login(
        _ token: String,
        device: String = "phone",
        more: [String: JSONValue] = [:]
    ) async throws -> TestHTTPResponse {
        let body: [String: JSONValue] = ["authToken": .string(token), "deviceId": .string(device)]
        return try await auth.service.send(
            .post,
            "/1/auth/login",
            body: json(body.merging(more) { $1 }),
            headers: headers
        )
    }

    /// Signs a user in and returns the session's token.
    func signIn(
        _ user: String,
        device: String = "phone",
        lifetime: Double = 3_600,
        now: Date = Date(),
        more: [String: JSONValue] = [:]
    ) async throws -> String {
        let claims = claims(user, nonce: try await nonce(), lifetime: lifetime, now: now)
        let answer = try await login(try token(claims), device: device, more: more)
        try #require(answer.status == 200, "\(answer.text)")
        return try answer.decode(ApplicationSignIn.self).session
    }

    func request(
        _ method: HTTPRequest.Method,
        _ path: String,
        session: String,
        at service: TestService? = nil
    ) async throws -> TestHTTPResponse {
        var headers = HTTPFields()
        headers[.diuitSession] = session
        return try await (service ?? auth.service).send(method, path, headers: headers)
    }

    /// The status of a request with this session.
    func status(of session: String) async throws -> Int {
        try await request(.get, "/auth/sessions", session: session).status
    }

    func asAdmin(_ method: HTTPRequest.Method, _ path: String, _ body: String? = nil) async throws -> TestHTTPResponse {
        try await auth.service.send(method, path, token: admin, body: body)
    }
}

extension Auth {
    /// A client with the rights of the operator's command.
    var asOperator: AuthClient {
        get throws { AuthClient(try service.peerClient("roost", callee: "auth")) }
    }

    /// Makes an account that administers the suite, and signs it in.
    func administrator(_ name: String = "root") async throws -> Person {
        _ = try await register(name)
        _ = try await asOperator.grantAdministration(to: name)
        return try await signIn(name)
    }

    func customer(_ name: String = "Acme", by admin: String) async throws -> Customer {
        let answer = try await post("/applications", json(["name": .string(name)]), token: admin)
        try #require(answer.status == 200, "\(answer.text)")
        let made = try answer.decode(NewApplication.self)
        return Customer(
            auth: self,
            id: made.applicationId,
            applicationKey: made.applicationKey,
            keyID: made.encryptionKeyId,
            key: try _RSA.Signing.PrivateKey(pemRepresentation: made.encryptionKey),
            admin: admin
        )
    }
}

func withCustomer(
    settings: [String: String] = [:],
    clock: TestClock? = nil,
    _ body: @Sendable (Customer) async throws -> Void
) async throws {
    try await withAuth(settings: settings, clock: clock) { auth in
        try await body(try await auth.customer(by: try await auth.administrator().jwt))
    }
}
