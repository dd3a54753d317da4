import Foundation
import Wire

/// Twitter's OAuth 2.0 with PKCE.
///
/// A bare access token is not taken: Twitter tells nobody which application it was given to, so one that somebody gave
/// to another application would sign that application in here.
struct TwitterProvider: IdentityProvider {
    struct Settings: Sendable {
        /// `https://api.twitter.com`.
        var url: String
        /// Where people agree: `https://x.com`.
        var pageURL: String
        var client: String
        /// None for an application that is registered as a public one.
        var secret: String?
    }

    let settings: Settings
    let calls: ProviderCalls

    var name: String { calls.name }

    func page(for request: ConsentRequest) async throws -> String {
        request.url(
            "\(settings.pageURL)/i/oauth2/authorize",
            client: settings.client,
            scope: "tweet.read users.read users.email"
        )
    }

    func identify(_ proof: IdentityProof) async throws -> ProviderProfile {
        guard case .code(let code) = proof else {
            throw APIError.invalid("code", "twitter is signed in with by a code", code: "unsupported_proof")
        }
        let granted = try await calls.post(
            "\(settings.url)/2/oauth2/token",
            [
                "grant_type": "authorization_code", "code": code.text, "redirect_uri": code.callback,
                "code_verifier": code.verifier, "client_id": settings.client,
            ],
            basic: settings.secret.map { (settings.client, $0) }
        )
        guard granted.isSuccess, let token = granted.json["access_token"]?.text else {
            guard granted.status == 400, granted.json["error"]?.text != "unauthorized_client" else {
                throw calls.unavailable("it answered \(granted.status) to a code")
            }
            throw ProofError.code
        }
        return try await profile(of: token)
    }

    private func profile(of token: String) async throws -> ProviderProfile {
        let fields: KeyValuePairs<String, String?> = ["user.fields": "name,profile_image_url,confirmed_email"]
        let me = try await calls.get(FormCoding.url("\(settings.url)/2/users/me", adding: fields), bearer: token)
        guard me.isSuccess, let data = me.json["data"], let id = data["id"]?.text else {
            throw calls.unavailable("it answered \(me.status) about a token of its own")
        }
        let email = data["confirmed_email"]?.text
        return ProviderProfile(
            subject: id,
            email: email,
            isEmailVerified: email != nil,
            fullName: data["name"]?.text,
            picture: data["profile_image_url"]?.text
        )
    }
}

extension TwitterProvider.Settings: CustomStringConvertible, CustomReflectable {
    var description: String { "TwitterProvider.Settings(\(url), hidden)" }
    var customMirror: Mirror { Mirror(self, children: ["url": url]) }
}
