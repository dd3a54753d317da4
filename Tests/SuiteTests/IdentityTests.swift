import AsyncHTTPClient
import AuthAPI
import Crypto
import Foundation
import HTTPTypes
import PhotosAPI
import ServiceClient
import TestSupport
import Testing
import Wire

/// Sign-in with the sandbox's Google through the gateway, as a browser does it.
extension SuiteTests {
    @Suite("Sign-in with a provider") struct IdentityTests {
        private static let app = "https://app.example.org/in"
        private static let verifier = String(repeating: "v", count: 43)

        @Test("The first sign-in creates an account with the provider's name and picture, and the next finds it")
        func firstAndNext() async throws {
            try await FakePhones.with(settings: ["IDENTITY_REDIRECT_URLS": Self.app]) { suite, _ in
                let first = try await Self.signIn(at: suite, as: "ana")
                #expect(first.created)
                let service = suite.gateway(jwt: first.jwt)
                let account: Account = try await service.get("/auth/me")
                #expect(account.fullName == "Ana Albers")
                #expect(account.emailVerified)
                let photos = PhotosClient(service)
                #expect(try await photos.me().fullName == "Ana Albers")
                try await eventually(within: .seconds(60), "avatar imported") {
                    try await photos.me().profilePicture != nil
                }

                let second = try await Self.signIn(at: suite, as: "ana")
                #expect(!second.created)
                #expect(second.userId == first.userId)
                let _: Done = try await suite.gateway().post("/oauth/revoke", PresentedToken(token: first.refreshToken))
                try await eventually(within: SuiteTests.promptLimit, "signed out") {
                    do {
                        let _: Account = try await service.get("/auth/me")
                        return false
                    } catch let error as APIError {
                        return error.kind == .forbidden
                    }
                }
                let _: Account = try await suite.gateway(jwt: second.jwt).get("/auth/me")
            }
        }

        private static func signIn(at suite: RunningSuite, as person: String) async throws -> IdentitySignIn {
            let challenge = Base64URL.encode(Data(SHA256.hash(data: Data(verifier.utf8))))
            let page: ConsentPage = try await suite.gateway().post(
                "/auth/identities/google/authorizations",
                ConsentDraft(redirectUri: app, codeChallenge: challenge)
            )
            let back = try await location(of: "\(page.url)&as=\(person)")
            let onward = try await location(of: back)
            try #require(onward.hasPrefix(app), "\(onward)")
            let items = URLComponents(string: onward)?.queryItems ?? []
            let authorization = try #require(items.first { $0.name == "authorization" }?.value)
            return try await suite.gateway().post(
                "/auth/identities/google",
                IdentityDraft(codeVerifier: verifier, authorization: authorization)
            )
        }

        /// Returns the location to which an address redirects.
        private static func location(of address: String) async throws -> String {
            let parts = try #require(URLComponents(string: address))
            let origin = "http://127.0.0.1:\(parts.port ?? 80)"
            let path = "\(parts.percentEncodedPath)?\(parts.percentEncodedQuery ?? "")"
            return try await HTTPClient.withoutRedirects { client in
                let transport = HTTPTransport(baseURLs: [origin], client: client)
                let response = try await transport.send(ServiceRequest(method: .get, path: path))
                return try #require(response.headers[.location], "\(response.status)")
            }
        }
    }
}
