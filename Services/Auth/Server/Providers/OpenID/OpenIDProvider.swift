import Foundation
import Logging
import Wire

/// A provider of OpenID Connect: Google, Apple, or one that the operator names by its issuer.
///
/// Where it is asked and what it signs with it says itself; both are read when they are first needed, so a provider
/// that is away keeps nothing from starting.
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
            // What was asked for with a nonce comes with it; what was asked for without is held by PKCE alone.
            guard claims.nonce == code.nonce.map(ProofNonce.claim) else { throw ProofError.nonce }
            return profile(claims, granted.refreshToken)
        case .accessToken:
            throw APIError.invalid(
                "accessToken",
                "\(name) is signed in with by an idToken or a code: an access token does not say whom it was given to",
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
        // A token that is not known has been forgotten already (RFC 7009, section 2.2).
        guard response.isSuccess || response.json["error"]?.text == "invalid_token" else {
            throw calls.unavailable("it answered \(response.status) to a revocation")
        }
    }

    // MARK: Codes

    private struct Granted {
        var idToken: String
        /// As `GrantedToken` writes it.
        var refreshToken: String?
    }

    /// Has the provider take a code of one of our clients (RFC 6749, section 4.1.3).
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
            throw calls.unavailable("it gave no ID token for a code")
        }
        let token = response.json["refresh_token"]?.text
        return Granted(idToken: idToken, refreshToken: token.map { GrantedToken(client: client, token: $0).text })
    }

    /// What a refusal of the token endpoint is (RFC 6749, section 5.2): the code's fault, or the operator's.
    private func failure(_ response: ProviderResponse) -> APIError {
        let error = response.json["error"]?.text
        guard response.status < 500, error == "invalid_grant" || error == "invalid_request" else {
            // The codes of the standard; nothing else of the answer goes to the log.
            let known = ["invalid_client", "unauthorized_client", "unsupported_grant_type", "invalid_scope"]
            let reason = error.flatMap { known.contains($0) ? $0 : nil } ?? "no known error"
            return calls.unavailable("it answered \(response.status) to a code, \(reason)")
        }
        return ProofError.code
    }

    /// By what a client is known to the provider (RFC 6749, section 2.3.1): fields of a form, or `Basic`.
    private struct Authentication {
        var name: String?
        var secret: String?
        var basic: (name: String, password: String)?
    }

    /// In the form where the provider takes a secret there or there is none; else as `Basic`, which all take.
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
        // They may have been read for somebody else in between.
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

/// A refresh token with the client that it was given to: the provider takes it back from no other (RFC 7009, 2.1).
private struct GrantedToken {
    var client: String
    var token: String

    init(client: String, token: String) {
        self.client = client
        self.token = token
    }

    /// Reads what `text` wrote; what was kept before clients were named in it is a token alone.
    init(_ text: String, unlessNamed client: String) {
        let end = text.firstIndex(of: "\n")
        self.client = end.map { String(text[..<$0]) } ?? client
        token = end.map { String(text[text.index(after: $0)...]) } ?? text
    }

    var text: String { "\(client)\n\(token)" }
}
