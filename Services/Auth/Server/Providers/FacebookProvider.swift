import Crypto
import Foundation
import Wire

/// Facebook Login over the Graph API: OAuth 2.0 without OpenID Connect.
struct FacebookProvider: IdentityProvider {
    struct Settings: Sendable {
        /// `https://graph.facebook.com`.
        var url: String
        /// The host of the consent page: `https://www.facebook.com`.
        var pageURL: String
        /// `v24.0`.
        var version: String
        var client: String
        var secret: String
    }

    let settings: Settings
    let calls: ProviderCalls

    var name: String { calls.name }

    func page(for request: ConsentRequest) async throws -> String {
        request.url(
            "\(settings.pageURL)/\(settings.version)/dialog/oauth",
            client: settings.client,
            scope: "public_profile,email"
        )
    }

    func identify(_ proof: IdentityProof) async throws -> ProviderProfile {
        switch proof {
        case .accessToken(let token): return try await profile(of: token)
        case .code(let code): return try await profile(of: try await exchange(code))
        case .idToken:
            throw APIError.invalid(
                "idToken",
                "sign-in with facebook requires an accessToken or a code",
                code: "unsupported_proof"
            )
        }
    }

    private func exchange(_ code: AuthorizationCode) async throws -> String {
        let response = try await calls.post(
            "\(base)/oauth/access_token",
            [
                "client_id": settings.client, "client_secret": settings.secret, "code": code.text,
                "redirect_uri": code.callback, "code_verifier": code.verifier,
            ]
        )
        guard response.isSuccess, let token = response.json["access_token"]?.text else {
            throw failure(response, of: ProofError.code)
        }
        return token
    }

    /// Returns the profile of a token after Facebook has confirmed that it was issued to this application.
    ///
    /// A token of another application can read the same profile, but does not authenticate the user here.
    private func profile(of token: String) async throws -> ProviderProfile {
        let inspection = try await calls.get(
            FormCoding.url("\(base)/debug_token", adding: ["input_token": token]),
            bearer: "\(settings.client)|\(settings.secret)"
        )
        guard inspection.isSuccess, let data = inspection.json["data"] else {
            throw failure(inspection, of: ProofError.token)
        }
        guard data["is_valid"] == .bool(true) else { throw ProofError.token }
        guard Self.id(data["app_id"]) == settings.client, let user = Self.id(data["user_id"]) else {
            throw ProofError.audience
        }
        let fields = "id,name,email,picture.width(512).height(512)"
        let url = FormCoding.url("\(base)/me", adding: ["fields": fields, "appsecret_proof": proof(of: token)])
        let me = try await calls.get(url, bearer: token)
        guard me.isSuccess else { throw failure(me, of: ProofError.token) }
        guard Self.id(me.json["id"]) == user else { throw ProofError.token }
        let picture = me.json["picture"]?["data"]
        return ProviderProfile(
            subject: user,
            // Facebook does not state whether the user has confirmed the address.
            email: me.json["email"]?.text,
            fullName: me.json["name"]?.text,
            picture: picture?["is_silhouette"] == .bool(true) ? nil : picture?["url"]?.text
        )
    }

    /// Returns an id, which the Graph API writes as a string or a number.
    private static func id(_ json: JSONValue?) -> String? { json?.text ?? json?.whole.map { String($0) } }

    /// Returns the proof that the caller has the app secret as well as the token (Meta, "Securing Graph API requests").
    private func proof(of token: String) -> String {
        HMAC<SHA256>.authenticationCode(for: Data(token.utf8), using: SymmetricKey(data: Data(settings.secret.utf8)))
            .map { String(format: "%02x", $0) }.joined()
    }

    private var base: String { "\(settings.url)/\(settings.version)" }

    private func failure(_ response: ProviderResponse, of kind: APIError) -> APIError {
        // 1 and 2: unknown and temporary; 4 and 17: too many calls (Meta, "Handling errors").
        let code = response.json["error"]?["code"]?.whole
        guard response.status < 500, let code, ![1, 2, 4, 17].contains(code) else {
            let reason = code.map { "\($0)" } ?? "unknown"
            return calls.unavailable("request failed with status \(response.status), error \(reason)")
        }
        return kind
    }
}

extension FacebookProvider.Settings: CustomStringConvertible, CustomReflectable {
    var description: String { "FacebookProvider.Settings(\(url), hidden)" }
    var customMirror: Mirror { Mirror(self, children: ["url": url]) }
}
