import Wire

/// An external provider that authenticates users: Google, Apple, Facebook, Twitter, or any OpenID Connect provider.
protocol IdentityProvider: Sendable {
    /// The name in paths and tables, such as `google`.
    var name: String { get }

    /// Whether the provider's page returns its result as a form instead of a redirect, which is required to receive
    /// names and addresses.
    var usesFormPost: Bool { get }

    /// Returns the URL of the consent page.
    ///
    /// - Throws: a 503 if the provider's metadata is unavailable.
    func page(for request: ConsentRequest) async throws -> String

    /// Compares the issuer of a response with the provider's own (RFC 9207).
    ///
    /// The code of another provider's response must not be sent to this provider, which would learn it.
    ///
    /// - Throws: a 401 for another issuer, and for a missing one if this provider always sends it.
    func check(issuer: String?) async throws

    /// Returns the user's profile for a proof from the client.
    ///
    /// - Throws: a 401 for an invalid proof or one for another application; a 503 while the provider is unavailable.
    func identify(_ proof: IdentityProof) async throws -> ProviderProfile

    /// Revokes the user's consent with the profile's `refreshToken`.
    func revoke(_ token: String) async throws
}

extension IdentityProvider {
    var usesFormPost: Bool { false }

    /// A provider that never sends an issuer: any issuer belongs to another provider.
    func check(issuer: String?) async throws {
        guard issuer == nil else { throw ProofError.issuer }
    }

    func revoke(_ token: String) async throws {}
}

struct ConsentRequest: Sendable {
    /// The address to which the provider redirects.
    var callback: String
    var state: String
    /// The nonce that the ID token must contain; see `ProofNonce`.
    var nonce: String
    /// The S256 challenge of PKCE (RFC 7636).
    var codeChallenge: String

    /// Returns the URL of a provider's consent page with a request for a code (RFC 6749, section 4.1.1).
    ///
    /// - Parameters:
    ///   - page: the URL without the parameters.
    ///   - client: the client id of this application.
    ///   - scope: the requested scopes.
    ///   - nonce: the nonce for the ID token, if the provider issues one.
    ///   - mode: the response mode, if it is not the default redirect.
    /// - Returns: the URL for the browser.
    func url(
        _ page: String,
        client: String,
        scope: String,
        nonce: String? = nil,
        mode: String? = nil
    ) -> String {
        FormCoding.url(
            page,
            adding: [
                "response_type": "code", "client_id": client, "redirect_uri": callback, "scope": scope, "state": state,
                "nonce": nonce, "code_challenge": codeChallenge, "code_challenge_method": "S256",
                "response_mode": mode,
            ]
        )
    }
}

/// The proof of a provider's authentication that a client sends.
enum IdentityProof: Sendable {
    /// An OpenID Connect ID token and the nonce of its request.
    ///
    /// Apple's apps also receive a code, with which auth gets the token for a later revocation.
    case idToken(String, nonce: String, code: String?)
    case accessToken(String)
    case code(AuthorizationCode)
}

/// The authorization code of a provider's redirect, with the values that only the requester knows.
struct AuthorizationCode: Sendable {
    var text: String
    var verifier: String
    /// The redirect address of the request, byte for byte.
    var callback: String
    /// The nonce of the request; nil if the client did not send it.
    var nonce: String?
}

/// The provider's data about a user.
struct ProviderProfile: Sendable {
    /// The provider's id of the user, which is never reassigned.
    var subject: String
    var email: String?
    /// Whether the provider has verified the address and is trusted for it.
    var isEmailVerified = false
    var fullName: String?
    var picture: String?
    /// The token for a later revocation, if the provider issued one; its format is private to the provider's
    /// implementation.
    var refreshToken: String?
}

/// The errors of rejected proofs.
///
/// The codes help developers of clients, and reveal nothing beyond the token's content.
enum ProofError {
    static func error(_ code: String, _ message: String) -> APIError { APIError(.unauthenticated, code, message) }

    static let malformed = error(
        "malformed_id_token",
        "the ID token is not a compact JWS, or its header has unsupported fields"
    )
    static let unknownKey = error("unknown_key", "the ID token is not signed with a key of the provider")
    static let signature = error("wrong_signature", "the ID token's signature does not match the key named in kid")
    static let issuer = error("wrong_issuer", "the issuer is not this provider")
    static let audience = error("wrong_audience", "the token was issued to another application")
    static let expired = error("id_token_expired", "the ID token has expired")
    static let early = error("id_token_not_yet_valid", "the ID token is not valid yet; a clock may be wrong")
    static let claims = error("malformed_claims", "the ID token's claims are not those of OpenID Connect")
    static let nonce = error(
        "wrong_nonce",
        "the ID token's nonce must be the SHA-256, in lower-case hex, of the nonce in the request"
    )
    static let code = error("invalid_code", "the code was used, has expired, or belongs to another client")
    static let token = error("invalid_access_token", "the provider rejected the access token")
}
