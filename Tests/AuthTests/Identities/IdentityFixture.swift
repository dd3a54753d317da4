import AsyncHTTPClient
import AuthAPI
import Configuration
import Foundation
import HTTPTypes
import Logging
import NIOCore
import NIOHTTP1
import SandboxServer
import ServiceHost
import TestSupport
import Testing
import Wire

@testable import AuthServer

/// Auth with the sandbox's identity providers, and the actions of the users who sign in with them.
struct IdentityFixture: Sendable {
    /// The redirect URL of apps.
    static let app = "https://app.example.org/in"
    static let verifier = String(repeating: "v", count: 43)

    let auth: Auth
    let sandbox: Sandbox
    let clock: TestClock
    let settings: [String: String]
    fileprivate let http: HTTPClient

    /// Signs in with the proof that a provider gave.
    func post(
        _ provider: String,
        _ fields: [String: JSONValue],
        token: String? = nil,
        address: String? = nil
    ) async throws -> TestHTTPResponse {
        var headers = HTTPFields()
        if let address, let name = HTTPField.Name("X-Forwarded-For") { headers[name] = address }
        return try await auth.post("/auth/identities/\(provider)", json(fields), token: token, headers: headers)
    }

    /// Signs in with an ID token, as an app does that has the provider's library.
    func signIn(
        _ person: String,
        at provider: SandboxService = .google,
        token: String? = nil,
        claims: [String: JSONValue]? = nil,
        audience: String? = nil,
        address: String? = nil
    ) async throws -> TestHTTPResponse {
        let nonce = ProofNonce.random()
        let draft = IDTokenDraft(
            person: person,
            nonce: ProofNonce.claim(of: nonce),
            audience: audience,
            claims: claims
        )
        let idToken = try #require(try sandbox.idToken(draft, by: provider))
        let fields: [String: JSONValue] = ["idToken": .string(idToken), "nonce": .string(nonce)]
        return try await post(provider.rawValue, fields, token: token, address: address)
    }

    /// Signs in and returns the account.
    func person(
        _ person: String,
        at provider: SandboxService = .google,
        token: String? = nil
    ) async throws -> Auth.Person {
        let answer = try await signIn(person, at: provider, token: token)
        try #require(answer.status == 200, "\(answer.text)")
        return try auth.person(answer, person)
    }

    // MARK: A provider's page

    /// Begins a sign-in at auth, and returns the URL of the provider's page.
    func begin(_ provider: String) async throws -> String {
        let challenge = ProofNonce.challenge(of: Self.verifier)
        let answer = try await auth.post(
            "/auth/identities/\(provider)/authorizations",
            json(["redirectUri": .string(Self.app), "codeChallenge": .string(challenge)])
        )
        return try #require(answer.json["url"].string, "\(answer.text)")
    }

    /// Agrees at a provider's page, and returns the browser's next request.
    func agree(_ page: String, as person: String) async throws -> Step {
        let response = try await http.execute(HTTPClientRequest(url: "\(page)&as=\(person)"), timeout: .seconds(20))
        if let location = response.headers.first(name: "location") { return Step(location) }
        let form = String(buffer: try await response.body.collect(upTo: 1 << 20))
        try #require(response.status == .ok, "\(form)")
        return try #require(Step(form: form))
    }

    /// Sends the browser's request to auth's callback.
    func callback(_ step: Step) async throws -> TestHTTPResponse {
        let path = try #require(URLComponents(string: step.url)?.percentEncodedPath)
        guard let form = step.form else {
            let query = URLComponents(string: step.url)?.percentEncodedQuery ?? ""
            return try await auth.service.send(.get, "\(path)?\(query)")
        }
        return try await auth.post(
            path,
            form,
            headers: [.contentType: "application/x-www-form-urlencoded"]
        )
    }

    /// Signs in with a browser, and returns the authorization that the app is redirected with.
    func authorization(_ person: String, at provider: String) async throws -> String {
        let answer = try await callback(try await agree(try await begin(provider), as: person))
        try #require(answer.status == 303, "\(answer.text)")
        let redirected = Step(answer.headers[.location] ?? "")
        #expect(redirected.url.hasPrefix(Self.app))
        #expect(redirected["provider"] == provider)
        return try #require(redirected["authorization"])
    }

    func complete(
        _ authorization: String,
        at provider: String,
        verifier: String = IdentityFixture.verifier,
        token: String? = nil
    ) async throws -> TestHTTPResponse {
        try await post(
            provider,
            ["authorization": .string(authorization), "codeVerifier": .string(verifier)],
            token: token
        )
    }

    // MARK: Revocations

    /// Sends the due revocations of tokens to their providers.
    func deliverRevocations() async throws { try await withRevocations { try await $0.deliver() } }

    /// Runs auth's worker.
    private func withRevocations(_ body: (IdentityRevocations) async throws -> Void) async throws {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let http = try ProviderHTTP(trustedCA: nil)
        let settings = try IdentityConfiguration(Self.reader(settings))
        let revocations = IdentityRevocations(
            database: auth.service.database.pool,
            encryptor: try TokenEncryptor(keys: Auth.key),
            providers: settings.providers(http, logger: logger, now: { clock.now }),
            logger: logger,
            now: { clock.now }
        )
        do {
            try await body(revocations)
            try await http.shutdown()
        } catch {
            try await http.shutdown()
            throw error
        }
    }
}

/// Starts auth and the providers, and stops them at the end of the scope.
func withIdentities(
    settings: [String: String] = [:],
    peers: PeerServices = .none,
    sendingMail: Bool = false,
    _ body: @Sendable (IdentityFixture) async throws -> Void
) async throws {
    let clock = TestClock()
    var configuration = try SandboxConfiguration.small()
    configuration.now = { clock.now }
    try await Sandbox.run(configuration) { sandbox in
        let mail = sendingMail ? try sandbox.credentials() : nil
        let mailSettings = mail.map { credentials in
            [
                "SMTP_URL": credentials.mail.url, "SMTP_FROM": credentials.mail.from,
                "TRUSTED_CA": credentials.authority,
            ]
        }
        let settings = try IdentityFixture.settings(of: sandbox)
            .merging(mailSettings ?? [:]) { $1 }
            .merging(settings) { $1 }
        try await HTTPClient.withoutRedirects { http in
            try await TestService.with(
                AuthService.self,
                settings: settings,
                peers: peers,
                now: { clock.now }
            ) { service in
                let auth = Auth(service: service)
                try await body(
                    IdentityFixture(auth: auth, sandbox: sandbox, clock: clock, settings: settings, http: http)
                )
            }
        }
    }
}

extension IdentityFixture {
    static func reader(_ settings: [String: String]) -> ConfigReader {
        ConfigReader(provider: EnvironmentVariablesProvider(environmentVariables: settings))
    }

    fileprivate static func settings(of sandbox: Sandbox) throws -> [String: String] {
        let apple = try sandbox.credentials().apns
        return [
            "TOKEN_ENCRYPTION_KEY": Auth.key,
            "GOOGLE_CLIENT_ID": "roost-google,roost-ios", "GOOGLE_CLIENT_SECRET": "roost-google-secret",
            "GOOGLE_ISSUER": "\(sandbox.url)/google",
            "APPLE_CLIENT_ID": "roost-apple", "APPLE_ISSUER": "\(sandbox.url)/apple",
            "APPLE_KEY": apple.key, "APPLE_KEY_ID": apple.keyId, "APPLE_TEAM_ID": apple.teamId,
            "FACEBOOK_CLIENT_ID": "roost-facebook", "FACEBOOK_CLIENT_SECRET": "roost-facebook-secret",
            "FACEBOOK_URL": "\(sandbox.url)/facebook",
            "TWITTER_CLIENT_ID": "roost-twitter", "TWITTER_CLIENT_SECRET": "roost-twitter-secret",
            "TWITTER_URL": "\(sandbox.url)/twitter",
            "IDENTITY_REDIRECT_URLS": app,
        ]
    }
}
