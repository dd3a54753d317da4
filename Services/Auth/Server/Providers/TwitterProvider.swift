import Foundation
import Wire

/// Sign-in with Twitter by OAuth 2.0 with PKCE.
///
/// Access tokens are rejected as a proof. Twitter does not report which application a token was issued to, so another
/// application could sign in with its users' tokens.
struct TwitterProvider: IdentityProvider {
    struct Settings: Sendable {
        /// `https://api.twitter.com`.
        var url: String
        /// The host of the consent page: `https://x.com`.
        var pageURL: String
        var client: String
        /// Nil for an application that is registered as a public client.
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
            throw APIError.invalid("code", "sign-in with twitter requires a code", code: "unsupported_proof")
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
                throw calls.unavailable("code exchange failed with status \(granted.status)")
            }
            throw ProofError.code
        }
        return try await profile(of: token)
    }

    private func profile(of token: String) async throws -> ProviderProfile {
        let fields: KeyValuePairs<String, String?> = ["user.fields": "name,profile_image_url,confirmed_email"]
        let me = try await calls.get(FormCoding.url("\(settings.url)/2/users/me", adding: fields), bearer: token)
        guard me.isSuccess, let data = me.json["data"], let id = data["id"]?.text else {
            throw calls.unavailable("profile request failed with status \(me.status)")
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
