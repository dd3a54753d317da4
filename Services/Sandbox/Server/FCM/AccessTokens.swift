import Credentials
import Crypto
import CryptoExtras
import Foundation
import Locks
import NIOCore
import NIOHTTP1
import Wire

/// Google's token endpoint: gives an access token for an assertion that a service account has signed (RFC 7523).
final class AccessTokens: Sendable {
    private static let grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer"
    private static let scopes: Set<String> = [
        "https://www.googleapis.com/auth/firebase.messaging", "https://www.googleapis.com/auth/cloud-platform",
    ]
    private static let lifetime = 3_600
    /// How far the clock of a client may be off.
    private static let skew = 300
    /// Tokens that are known at once; with one more, all are forgotten, and clients come for another.
    private static let limit = 10_000

    private struct Claims: Decodable {
        var iss: String
        var scope: String?
        var aud: String
        var iat: Int
        var exp: Int
    }

    private struct Grant: Sendable {
        let account: String
        let expiry: Int
    }

    private struct Given: Encodable {
        let accessToken: String
        let expiresIn = AccessTokens.lifetime - 1
        let tokenType = "Bearer"

        enum CodingKeys: String, CodingKey {
            case accessToken = "access_token"
            case expiresIn = "expires_in"
            case tokenType = "token_type"
        }
    }

    /// The error of OAuth (RFC 6749, section 5.2).
    struct Refusal: Error, Encodable {
        let error: String
        let errorDescription: String

        init(_ error: String, _ description: String) {
            self.error = error
            errorDescription = description
        }

        enum CodingKeys: String, CodingKey {
            case error
            case errorDescription = "error_description"
        }
    }

    private let accounts: DeveloperAccounts
    private let script: Script
    private let seen: SeenNotifications
    private let now: @Sendable () -> Date
    private let grants = Lock<[String: Grant]>([:])

    init(accounts: DeveloperAccounts, script: Script, seen: SeenNotifications, now: @escaping @Sendable () -> Date) {
        self.accounts = accounts
        self.script = script
        self.seen = seen
        self.now = now
    }

    /// The account that a bearer's token was given to; nil for a token that is unknown or has expired.
    func account(of token: some StringProtocol) -> String? {
        guard let grant = grants.withLock({ $0[String(token)] }), grant.expiry > seconds else { return nil }
        return grant.account
    }

    func reply(to request: WebRequest) throws -> WebReply {
        do throws(Refusal) {
            let account = try judge(request)
            if let rule = script.follow(.fcmToken, token: account.clientEmail) {
                return rule.isLenient ? rule.reply { give(to: account) } : rule.reply { refuse(rule) }
            }
            return .answer(give(to: account))
        } catch {
            seen.refuse(.fcmToken, status: 400, reason: error.error)
            return .answer(try .json(error, status: .badRequest))
        }
    }

    private func refuse(_ rule: ScriptRule) -> WebAnswer {
        let status = rule.status ?? 400
        let reason = rule.reason ?? (status >= 500 ? "internal_failure" : "invalid_grant")
        seen.refuse(.fcmToken, status: status, reason: reason)
        // Two strings cannot fail to encode.
        let answer = try? WebAnswer.json(Refusal(reason, "Scripted"), status: HTTPResponseStatus(statusCode: status))
        return answer ?? WebAnswer(HTTPResponseStatus(statusCode: status))
    }

    private func give(to account: DeveloperAccount) -> WebAnswer {
        let token = "ya29.\(Base64URL.random(bytes: 48))"
        grants.withLock { grants in
            if grants.count >= Self.limit { grants = [:] }
            grants[token] = Grant(account: account.name, expiry: seconds + Self.lifetime)
        }
        // As above.
        return (try? .json(Given(accessToken: token))) ?? WebAnswer(.internalServerError)
    }

    private var seconds: Int { Int(now().timeIntervalSince1970) }

    // MARK: The assertion

    private func judge(_ request: WebRequest) throws(Refusal) -> DeveloperAccount {
        guard request.method == .POST else { throw Refusal("invalid_request", "Method must be POST.") }
        let form = Self.form(request.body)
        guard form["grant_type"] == Self.grantType else {
            throw Refusal("unsupported_grant_type", "Invalid grant_type: \(form["grant_type"] ?? "")")
        }
        guard let assertion = form["assertion"], let jws = CompactJWS(assertion, maximumLength: 8_192),
            // Silence: claims that cannot be read make no assertion.
            jws.algorithm == "RS256", let claims = try? JSONDecoder().decode(Claims.self, from: jws.payload)
        else { throw Refusal("invalid_grant", "Bad Request: the assertion is not a JWT signed with RS256.") }
        guard let account = accounts.account(clientEmail: claims.iss) else {
            throw Refusal("invalid_grant", "Invalid grant: account not found")
        }
        let signature = _RSA.Signing.RSASignature(rawRepresentation: jws.signature)
        let key = account.serviceAccountKey.publicKey
        guard key.isValidSignature(signature, for: SHA256.hash(data: jws.signingInput), padding: .insecurePKCS1v1_5)
        else { throw Refusal("invalid_grant", "Invalid JWT Signature.") }
        try check(claims, of: request)
        return account
    }

    private func check(_ claims: Claims, of request: WebRequest) throws(Refusal) {
        guard [ServiceAccount.googlesURL, "\(request.origin)/fcm/token"].contains(claims.aud) else {
            throw Refusal("invalid_grant", "Invalid JWT: Failed audience check.")
        }
        let scopes = claims.scope?.split(separator: " ").map(String.init) ?? []
        guard !scopes.isEmpty, Self.scopes.isSuperset(of: scopes) else {
            throw Refusal("invalid_scope", "Invalid OAuth scope or ID token audience provided.")
        }
        let isTimely =
            claims.exp > claims.iat && claims.exp - claims.iat <= Self.lifetime && claims.exp > seconds - Self.skew
            && claims.iat <= seconds + Self.skew
        guard isTimely else {
            throw Refusal(
                "invalid_grant",
                "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. "
                    + "Check your iat and exp values in the JWT claim."
            )
        }
    }

    /// The fields of `application/x-www-form-urlencoded`.
    private static func form(_ body: ByteBuffer) -> [String: String] {
        var parts = URLComponents()
        parts.percentEncodedQuery = String(buffer: body).replacing("+", with: "%20")
        let items = parts.queryItems ?? []
        return Dictionary(items.map { ($0.name, $0.value ?? "") }) { first, _ in first }
    }
}
