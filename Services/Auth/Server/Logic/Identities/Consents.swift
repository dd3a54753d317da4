import AuthAPI
import Crypto
import Foundation
import Postgres
import ServiceHost
import Wire

/// The provider's redirect or form to the callback (OAuth 2.0 Form Post Response Mode).
struct ConsentResponse: FormDecodable, Sendable {
    var state: String?
    /// Absent if the user refused.
    var code: String?
    /// The issuer in the redirect (RFC 9207).
    var iss: String?
    /// Apple's JSON with the user's name; only in a form.
    var user: String?
}

/// Sign-in by redirect to a provider's page and back, for clients without the provider's own SDK.
///
/// The result is useless without the PKCE verifier of the client that began. A user who follows an attacker's link and
/// consents therefore signs neither side in as the other.
struct Consents: Sendable {
    /// Seconds until a pending sign-in expires.
    static let lifetime: TimeInterval = 600

    /// The encrypted state of a pending sign-in, and of its result after the callback.
    private struct PendingConsent: Codable {
        var verifier: String
        var nonce: String
        var code: String?
        var fullName: String?
    }

    let database: PostgresPool
    let encryptor: TokenEncryptor
    let providers: [String: any IdentityProvider]
    let redirectURLs: Set<String>
    let publicURL: String
    let now: @Sendable () -> Date

    func begin(_ draft: ConsentDraft, at name: String) async throws -> ConsentPage {
        let provider = try provider(name)
        let redirectURL = try RedirectURL.check(draft.redirectUri, among: redirectURLs)
        guard draft.codeChallenge.utf8.count == 43, Base64URL.decode(draft.codeChallenge)?.count == 32 else {
            throw APIError.invalid("codeChallenge", "codeChallenge must be a SHA-256 hash in base64url (S256)")
        }
        let state = ProofNonce.random()
        let pending = PendingConsent(verifier: ProofNonce.random(), nonce: ProofNonce.random())
        let request = ConsentRequest(
            callback: callback(of: name),
            state: state,
            nonce: pending.nonce,
            codeChallenge: ProofNonce.challenge(of: pending.verifier)
        )
        let page = try await provider.page(for: request)
        let hash = Self.hash(state)
        try await ConsentStore(db: database).insert(
            ConsentStore.Record(
                stateHash: hash,
                provider: name,
                redirectURL: redirectURL,
                codeChallenge: draft.codeChallenge,
                ciphertext: try seal(pending, of: hash),
                endsAt: now().addingTimeInterval(Self.lifetime)
            )
        )
        return ConsentPage(url: page)
    }

    /// Returns the client's URL to redirect to, with an `authorization` code or an error.
    ///
    /// - Throws: a 400 if the state is not pending for this provider, a 401 for a response of another issuer.
    func handleCallback(from name: String, with response: ConsentResponse) async throws -> String {
        let provider = try provider(name)
        let store = ConsentStore(db: database)
        guard let state = response.state, case let hash = Self.hash(state),
            let record = try await store.findPending(hash, at: name, now: now())
        else { throw Self.unknownState }
        try await provider.check(issuer: response.iss)
        guard let code = response.code, (1...4_096).contains(code.utf8.count) else {
            try await store.delete(hash)
            return FormCoding.url(record.redirectURL, adding: ["error": "access_denied", "provider": name])
        }
        var pending = try open(record)
        pending.code = code
        pending.fullName = response.user.flatMap(Self.name)
        let authorization = ProofNonce.random()
        guard try await store.complete(try seal(pending, of: hash), codeHash: Self.hash(authorization), of: hash) else {
            throw Self.unknownState
        }
        return FormCoding.url(record.redirectURL, adding: ["authorization": authorization, "provider": name])
    }

    /// Consumes the result of a callback for the client that began the sign-in; with the name, if the page reported
    /// one.
    ///
    /// - Throws: a 401 for another client, and for an authorization that was used or has expired.
    func consume(
        _ authorization: String,
        verifier: String,
        at name: String
    ) async throws -> (code: AuthorizationCode, fullName: String?) {
        let record = try await ConsentStore(db: database).consume(
            codeHash: Self.hash(authorization),
            at: name,
            codeChallenge: ProofNonce.challenge(of: verifier),
            now: now()
        )
        guard let record else { throw Self.refused }
        let pending = try open(record)
        guard let code = pending.code else { throw Self.refused }
        let proof = AuthorizationCode(
            text: code,
            verifier: pending.verifier,
            callback: callback(of: name),
            nonce: pending.nonce
        )
        return (proof, pending.fullName)
    }

    /// Returns the provider's own callback address, which identifies the provider of a response (RFC 9700, 4.4.2).
    private func callback(of name: String) -> String { "\(publicURL)/auth/identities/\(name)/callback" }

    private func provider(_ name: String) throws -> any IdentityProvider {
        guard let provider = providers[name] else { throw Identities.unknownProvider }
        return provider
    }

    /// Returns the name in Apple's form, which Apple sends only at the first sign-in.
    private static func name(_ user: String) -> String? {
        // Errors are ignored: the form is unverified input, and the name is optional.
        guard user.utf8.count <= 4_096, let json = try? JSONParser.parse(user.utf8), let name = json["name"] else {
            return nil
        }
        let parts = [name["firstName"]?.text, name["lastName"]?.text].compactMap(\.self).filter { !$0.isEmpty }
        return parts.isEmpty ? nil : parts.joined(separator: " ")
    }

    private func seal(_ pending: PendingConsent, of stateHash: Data) throws -> TokenEncryptor.EncryptedValue {
        try encryptor.seal(WireJSON.encoder().encode(pending), for: Self.owner(stateHash))
    }

    private func open(_ record: ConsentStore.Record) throws -> PendingConsent {
        try WireJSON.decoder().decode(
            PendingConsent.self,
            from: encryptor.open(record.ciphertext, for: Self.owner(record.stateHash))
        )
    }

    private static func owner(_ stateHash: Data) -> String { "consent\n\(Base64URL.encode(stateHash))" }
    private static func hash(_ text: String) -> Data { Data(SHA256.hash(data: Data(text.utf8))) }

    private static let unknownState = APIError.invalid(
        "state",
        "state is unknown or has expired; start the sign-in again",
        code: "unknown_state"
    )
    private static let refused = APIError(
        .unauthenticated,
        "invalid_authorization",
        "the authorization was used, has expired, or belongs to another client"
    )
}
