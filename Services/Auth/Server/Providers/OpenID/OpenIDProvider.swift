import Foundation
import Logging
import Wire

/// An OpenID Connect provider: Google, Apple, or one that the operator configures by its issuer.
///
/// The provider's endpoints and keys are fetched on first use, so an unavailable provider does not prevent a start.
struct OpenIDProvider: IdentityProvider {
    private let settings: OpenIDSettings
    private let calls: ProviderCalls
    private let now: @Sendable () -> Date
    private let metadata: ProviderDocument<OpenIDMetadata>
    private let keys: ProviderDocument<ProviderKeySet>

    init(_ settings: OpenIDSettings, http: ProviderHTTP, logger: Logger, now: @escaping @Sendable () -> Date) {
        self.settings = settings
        calls = ProviderCalls(name: settings.name, http: http, logger: logger)
        self.now = now
        let metadata = ProviderDocument(of: settings.name, logger: logger, now: now) {
            let response = try await http.get(OpenIDMetadata.address(of: settings.issuer))
            return try OpenIDMetadata(response.object(), of: settings.issuer)
        }
        self.metadata = metadata
        keys = ProviderDocument(of: settings.name, logger: logger, now: now) {
            try ProviderKeySet(await http.get(metadata.value().keyDocument).object())
        }
    }

    var name: String { settings.name }
    var usesFormPost: Bool { settings.usesFormPost }

    func page(for request: ConsentRequest) async throws -> String {
        request.url(
            try await metadata.value().authorizationEndpoint,
            client: settings.clients[0],
            scope: settings.scope,
            nonce: ProofNonce.claim(of: request.nonce),
            mode: usesFormPost ? "form_post" : nil
        )
    }

    func check(issuer: String?) async throws {
        guard let issuer else {
            guard try await !metadata.value().sendsIssuer else { throw ProofError.issuer }
            return
        }
        guard issuer == settings.issuer else { throw ProofError.issuer }
    }

    func identify(_ proof: IdentityProof) async throws -> ProviderProfile {
        switch proof {
        case .idToken(let text, let nonce, let code):
            let claims = try await claims(of: text)
            guard claims.nonce == ProofNonce.claim(of: nonce) else { throw ProofError.nonce }
            guard let code else { return profile(claims) }
            let granted = try await exchange(code, for: claims.client)
            guard try await self.claims(of: granted.idToken).subject == claims.subject else { throw ProofError.code }
            return profile(claims, granted.refreshToken)
        case .code(let code):
            let granted = try await exchange(
                code.text,
                callback: code.callback,
                verifier: code.verifier,
                for: settings.clients[0]
            )
            let claims = try await claims(of: granted.idToken)
            // The token contains the nonce if the request had one. A request without a nonce is protected by PKCE only.
            guard claims.nonce == code.nonce.map(ProofNonce.claim) else { throw ProofError.nonce }
            return profile(claims, granted.refreshToken)
        case .accessToken:
            throw APIError.invalid(
                "accessToken",
                "sign-in with \(name) requires an idToken or a code; an access token does not name its application",
                code: "unsupported_proof"
            )
        }
    }

    func revoke(_ token: String) async throws {
        let metadata = try await metadata.value()
        guard let endpoint = metadata.revocationEndpoint else { return }
        let granted = GrantedToken(token, unlessNamed: settings.clients[0])
        let client = try authentication(of: granted.client, metadata)
        let response = try await calls.post(
            endpoint,
            [
                "token": granted.token, "token_type_hint": "refresh_token", "client_id": client.name,
                "client_secret": client.secret,
            ],
            basic: client.basic
        )
        // An unknown token is already revoked (RFC 7009, section 2.2).
        guard response.isSuccess || response.json["error"]?.text == "invalid_token" else {
            throw calls.unavailable("revocation failed with status \(response.status)")
        }
    }

    // MARK: Codes

    private struct Granted {
        var idToken: String
        /// In the format of `GrantedToken`.
        var refreshToken: String?
    }

    /// Exchanges a code of one of the client ids (RFC 6749, section 4.1.3).
    private func exchange(
        _ code: String,
        callback: String? = nil,
        verifier: String? = nil,
        for client: String
    ) async throws -> Granted {
        let metadata = try await metadata.value()
        let authentication = try authentication(of: client, metadata)
        let response = try await calls.post(
            metadata.tokenEndpoint,
            [
                "grant_type": "authorization_code", "code": code, "redirect_uri": callback, "code_verifier": verifier,
                "client_id": authentication.name, "client_secret": authentication.secret,
            ],
            basic: authentication.basic
        )
        guard response.isSuccess else { throw failure(response) }
        guard let idToken = response.json["id_token"]?.text else {
            throw calls.unavailable("the token response has no ID token")
        }
        let token = response.json["refresh_token"]?.text
        return Granted(idToken: idToken, refreshToken: token.map { GrantedToken(client: client, token: $0).text })
    }

    /// Returns the error of a failed exchange (RFC 6749, section 5.2): an invalid code, or a configuration error of the
    /// operator.
    private func failure(_ response: ProviderResponse) -> APIError {
        let error = response.json["error"]?.text
        guard response.status < 500, error == "invalid_grant" || error == "invalid_request" else {
            // Only the standard's error codes are logged; no other part of the response is.
            let standardCodes = ["invalid_client", "unauthorized_client", "unsupported_grant_type", "invalid_scope"]
            let reason = error.flatMap { standardCodes.contains($0) ? $0 : nil } ?? "unknown error"
            return calls.unavailable("code exchange failed with status \(response.status), \(reason)")
        }
        return ProofError.code
    }

    /// The client authentication (RFC 6749, section 2.3.1): form fields, or `Basic`.
    private struct Authentication {
        var name: String?
        var secret: String?
        var basic: (name: String, password: String)?
    }

    /// Returns form fields if the provider accepts a secret there or the client has none; otherwise `Basic`, which all
    /// accept.
    private func authentication(of client: String, _ metadata: OpenIDMetadata) throws -> Authentication {
        let secret = try secret(for: client)
        guard let password = secret, !metadata.supportsSecretInForm else {
            return Authentication(name: client, secret: secret)
        }
        return Authentication(basic: (name: client, password: password))
    }

    private func secret(for client: String) throws -> String? {
        switch settings.secret {
        case .text(let text): text
        case .apple(let secret): try secret.text(for: client, at: now())
        case nil: nil
        }
    }

    // MARK: ID tokens

    private func claims(of text: String) async throws -> IDToken.Claims {
        let token = try IDToken(text)
        let rules = IDToken.Rules(
            issuers: settings.issuerAliases.union([settings.issuer]),
            clients: Set(settings.clients)
        )
        return try token.claims(signedBy: try await key(for: token), by: rules, now: now())
    }

    private func key(for token: IDToken) async throws -> ProviderKey {
        if let key = try await keys.value().key(for: token.jws) { return key }
        if let key = try await keys.valueAfterMiss()?.key(for: token.jws) { return key }
        // A concurrent request may have fetched the keys in the meantime.
        guard let key = try await keys.value().key(for: token.jws) else { throw ProofError.unknownKey }
        return key
    }

    private func profile(_ claims: IDToken.Claims, _ refreshToken: String? = nil) -> ProviderProfile {
        ProviderProfile(
            subject: claims.subject,
            email: claims.email,
            isEmailVerified: claims.isEmailVerified && isEmailTrusted(claims),
            fullName: claims.name,
            picture: claims.picture,
            refreshToken: refreshToken
        )
    }

    private func isEmailTrusted(_ claims: IDToken.Claims) -> Bool {
        switch settings.emailTrust {
        case .always: return true
        case .never: return false
        case .ownDomains(let domains):
            let domain = claims.email?.split(separator: "@").last.map { $0.lowercased() }
            return claims.hostedDomain?.isEmpty == false || domain.map(domains.contains) ?? false
        }
    }
}

/// A refresh token with the client id it was issued to: the provider revokes it only for that client (RFC 7009, 2.1).
private struct GrantedToken {
    var client: String
    var token: String

    init(client: String, token: String) {
        self.client = client
        self.token = token
    }

    /// Parses the format of `text`.
    ///
    /// Older rows contain only a token, without a client id.
    init(_ text: String, unlessNamed client: String) {
        let end = text.firstIndex(of: "\n")
        self.client = end.map { String(text[..<$0]) } ?? client
        token = end.map { String(text[text.index(after: $0)...]) } ?? text
    }

    var text: String { "\(client)\n\(token)" }
}
