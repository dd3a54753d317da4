import AuthAPI
import Credentials
import CryptoExtras
import Foundation
import HTTPTypes
import Logging
import ServiceHost
import TestSupport
import Testing
import Wire

@testable import AuthServer

/// Tokens that an application's server signs with the application's key.
@Suite("Server tokens") struct ServerTokenTests {
    /// A token of the application's server.
    private static func token(_ acme: Customer, lifetime: Double = 300) throws -> String {
        let now = Date()
        let claims: [String: JSONValue] = [
            "iss": .string(acme.id), "sub": "__server__", "iat": .integer(Int64(now.timeIntervalSince1970)),
            "exp": .string(Timestamp.string(from: now.addingTimeInterval(lifetime - 1))),
        ]
        return try acme.token(claims)
    }

    /// A verifier of another service.
    private static func peerVerifier(of acme: Customer) async throws -> CredentialVerifier {
        let verifier = CredentialVerifier(
            source: HTTPCredentialSource(auth: try acme.auth.service.peerClient("push", callee: "auth")),
            issuer: TestKeys.issuer,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        try await verifier.load()
        return verifier
    }

    @Test("Services accept a server token, and account routes do not")
    func acceptedByServices() async throws {
        try await withCustomer { acme in
            let token = try Self.token(acme)
            let here = try await acme.auth.service.assembled.verifier.identify(token, allowingServer: true)
            let there = try await Self.peerVerifier(of: acme).identify(token, allowingServer: true)
            #expect(here == there)
            #expect(here.isServer)
            #expect(here.user.application == acme.id)
            // A server token is no account, session or administrator.
            for path in ["/auth/me", "/auth/sessions", "/applications"] {
                #expect(try await acme.auth.service.send(.get, path, token: token).status == 403)
            }
            let register = try await acme.auth.post(
                "/auth/register",
                json(["username": "server", "password": .string(Auth.password)]),
                token: token
            )
            #expect(register.status == 403)
        }
    }

    @Test("Revoking the key ends its server tokens in every service")
    func revokedKey() async throws {
        try await withCustomer { acme in
            let verifier = try await Self.peerVerifier(of: acme)
            let token = try Self.token(acme)
            _ = try await verifier.identify(token, allowingServer: true)
            let following = Task { await verifier.run() }
            defer { following.cancel() }

            #expect(try await acme.asAdmin(.delete, "/applications/\(acme.id)/keys/\(acme.keyID)").status == 200)

            // This takes about a second; without the event the key would be cached for a minute.
            try await eventually(within: .seconds(30), "ended") { verifier.cached(token, allowingServer: true) == nil }
            await #expect(throws: APIError.self) { try await verifier.identify(token, allowingServer: true) }
            let here = acme.auth.service.assembled.verifier
            await #expect(throws: APIError.self) { try await here.identify(token, allowingServer: true) }
            await #expect(throws: APIError.self) {
                try await here.identify(try Self.token(acme, lifetime: 200), allowingServer: true)
            }
        }
    }

    @Test("A user cannot sign in with the server's subject")
    func serverSubject() async throws {
        try await withCustomer { acme in
            let claims = acme.claims("__server__", nonce: try await acme.nonce())
            let answer = try await acme.login(try acme.token(claims))
            #expect(answer.status == 401)
            #expect(answer.problem?.code == "malformed_claims")
        }
    }

    @Test("Only active keys of known applications are found")
    func activeKeysOnly() async throws {
        try await withCustomer { acme in
            let source = HTTPCredentialSource(auth: try acme.auth.service.peerClient("gateway", callee: "auth"))
            let name = "\(acme.id)/\(acme.keyID)"
            let names = [name, "\(acme.id)/nothing", "nothing/\(acme.keyID)", "", "a/b/c"]
            let found = try await source.applicationKeys(names)
            #expect(found == [KnownApplicationKey(name: name, publicKey: acme.key.publicKey.derRepresentation)])
            _ = try await acme.asAdmin(.delete, "/applications/\(acme.id)/keys/\(acme.keyID)")
            #expect(try await source.applicationKeys(names).isEmpty)
        }
    }
}
