import Wire

/// Who vouches for people from outside: Google, Apple, Facebook, Twitter, or any provider of OpenID Connect.
protocol IdentityProvider: Sendable {
    /// As paths and tables have it: `google`.
    var name: String { get }

    /// Whether it is asked for names and addresses by a form that its page sends, and not by a link.
    var usesFormPost: Bool { get }

    /// Where somebody goes to agree.
    ///
    /// - Throws: a 503 where the provider does not say where that is.
    func page(for request: ConsentRequest) async throws -> String

    /// Holds the issuer that an answer names against the provider's own (RFC 9207): an answer of another provider is
    /// not to be shown to this one, which would learn the code in it.
    ///
    /// - Throws: a 401 for another issuer, and for none where this provider always names itself.
    func check(issuer: String?) async throws

    /// Who somebody is, by what the provider gave a client.
    ///
    /// - Throws: a 401 for what proves nothing, or not to us; a 503 while the provider does not answer.
    func identify(_ proof: IdentityProof) async throws -> ProviderProfile

    /// Has the provider forget that somebody has ever agreed, by the `refreshToken` that came with him.
    func revoke(_ token: String) async throws
}

extension IdentityProvider {
    var usesFormPost: Bool { false }

    /// A provider that never names itself: who does is another.
    func check(issuer: String?) async throws {
        guard issuer == nil else { throw ProofError.issuer }
    }

    func revoke(_ token: String) async throws {}
}

/// What a provider's page is asked with.
struct ConsentRequest: Sendable {
    /// Where the provider sends people back to.
    var callback: String
    var state: String
    /// What the ID token must bear; see `ProofNonce`.
    var nonce: String
    /// PKCE, S256 (RFC 7636).
    var codeChallenge: String

    /// The address of a provider's page, asked for a code (RFC 6749, section 4.1.1).
    ///
    /// - Parameters:
    ///   - page: the address without the fields.
    ///   - client: what the provider knows us by.
    ///   - scope: what is asked for.
    ///   - nonce: what the ID token is to bear, of a provider that gives one.
    ///   - mode: how the answer is to come, where that is not by a link.
    /// - Returns: where a browser goes.
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

/// What a client shows of a provider's.
enum IdentityProof: Sendable {
    /// A token of OpenID Connect, and the nonce that it was asked for with.
    ///
    /// Apple's apps get a code besides, by which we get what Apple is later told to forget by.
    case idToken(String, nonce: String, code: String?)
    case accessToken(String)
    case code(AuthorizationCode)
}

/// What a provider's page has sent somebody back with, and what of it only who asked can know.
struct AuthorizationCode: Sendable {
    var text: String
    var verifier: String
    /// Where it was sent to, letter by letter.
    var callback: String
    /// What the ID token was asked for with; nil where the client did not say.
    var nonce: String?
}

/// What a provider says of somebody.
struct ProviderProfile: Sendable {
    /// Who it is, by the provider's own name, which never becomes another's.
    var subject: String
    var email: String?
    /// Whether the provider has made sure that the address is his, and is to be believed about it.
    var isEmailVerified = false
    var fullName: String?
    /// The address of a picture.
    var picture: String?
    /// By which the provider is told to forget, where it gave one; in words that only the provider here reads.
    var refreshToken: String?
}

/// How what a client shows is refused.
///
/// The codes are for who writes the client, and tell no more than the token itself does.
enum ProofError {
    static func error(_ code: String, _ message: String) -> APIError { APIError(.unauthenticated, code, message) }

    static let malformed = error(
        "malformed_id_token",
        "the ID token is no compact JWS, or has header fields that it may not have"
    )
    static let unknownKey = error("unknown_key", "the ID token is signed by no key of the provider's")
    static let signature = error("wrong_signature", "the ID token was not signed by the key it names")
    static let issuer = error("wrong_issuer", "this was not given out by the provider")
    static let audience = error("wrong_audience", "this was given to another application")
    static let expired = error("id_token_expired", "the ID token has expired")
    static let early = error("id_token_not_yet_valid", "the ID token does not count yet; is a clock wrong?")
    static let claims = error("malformed_claims", "the ID token's claims are not those of OpenID Connect")
    static let nonce = error(
        "wrong_nonce",
        "the ID token's nonce must be the SHA-256, in lower-case hex, of the nonce that comes with it"
    )
    static let code = error("invalid_code", "the provider does not take the code: used before, too old, or another's")
    static let token = error("invalid_access_token", "the provider does not know the access token")
}
