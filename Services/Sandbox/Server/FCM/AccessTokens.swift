import Credentials
import Crypto
import CryptoExtras
import Foundation
import Locks
import NIOCore
import NIOHTTP1
import Wire

/// Google's token endpoint, which exchanges a service account's signed assertion for an access token (RFC 7523).
final class AccessTokens: Sendable {
    private static let grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer"
    private static let scopes: Set<String> = [
        "https://www.googleapis.com/auth/firebase.messaging", "https://www.googleapis.com/auth/cloud-platform",
    ]
    private static let lifetime = 3_600
    /// How many seconds a client's clock may differ.
    private static let skew = 300
    /// The maximum number of stored tokens; one more removes all of them, and clients request new ones.
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

    private struct TokenResponse: Encodable {
        let accessToken: String
        let expiresIn = AccessTokens.lifetime - 1
        let tokenType = "Bearer"

        enum CodingKeys: String, CodingKey {
            case accessToken = "access_token"
            case expiresIn = "expires_in"
            case tokenType = "token_type"
        }
    }

    /// An OAuth error response (RFC 6749, section 5.2).
    struct OAuthError: Error, Encodable {
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
    private let received: ReceivedNotifications
    private let now: @Sendable () -> Date
    private let grants = Lock<[String: Grant]>([:])

    init(
        accounts: DeveloperAccounts,
        script: Script,
        received: ReceivedNotifications,
        now: @escaping @Sendable () -> Date
    ) {
        self.accounts = accounts
        self.script = script
        self.received = received
        self.now = now
    }

    /// Returns the account that a token was issued to, or nil for an unknown or expired token.
    func account(of token: some StringProtocol) -> String? {
        guard let grant = grants.withLock({ $0[String(token)] }), grant.expiry > seconds else { return nil }
        return grant.account
    }

    func reply(to request: WebRequest) throws -> ResponseAction {
        do throws(OAuthError) {
            let account = try validate(request)
            if let rule = script.follow(.fcmToken, token: account.clientEmail) {
                return rule.isLenient ? rule.reply { issueToken(to: account) } : rule.reply { reject(rule) }
            }
            return .response(issueToken(to: account))
        } catch {
            received.reject(.fcmToken, status: 400, reason: error.error)
            return .response(try .json(error, status: .badRequest))
        }
    }

    private func reject(_ rule: ScriptRule) -> WebResponse {
        let status = rule.status ?? 400
        let reason = rule.reason ?? (status >= 500 ? "internal_failure" : "invalid_grant")
        received.reject(.fcmToken, status: status, reason: reason)
        // Encoding two strings cannot fail.
        let response = try? WebResponse.json(
            OAuthError(reason, "Scripted"),
            status: HTTPResponseStatus(statusCode: status)
        )
        return response ?? WebResponse(HTTPResponseStatus(statusCode: status))
    }

    private func issueToken(to account: DeveloperAccount) -> WebResponse {
        let token = "ya29.\(Base64URL.random(bytes: 48))"
        grants.withLock { grants in
            if grants.count >= Self.limit { grants = [:] }
            grants[token] = Grant(account: account.name, expiry: seconds + Self.lifetime)
        }
        // Encoding strings and a number cannot fail.
        return (try? .json(TokenResponse(accessToken: token))) ?? WebResponse(.internalServerError)
    }

    private var seconds: Int { Int(now().timeIntervalSince1970) }

    // MARK: Assertion

    private func validate(_ request: WebRequest) throws(OAuthError) -> DeveloperAccount {
        guard request.method == .POST else { throw OAuthError("invalid_request", "Method must be POST.") }
        let form = Self.form(request.body)
        guard form["grant_type"] == Self.grantType else {
            throw OAuthError("unsupported_grant_type", "Invalid grant_type: \(form["grant_type"] ?? "")")
        }
        guard let assertion = form["assertion"], let jws = CompactJWS(assertion, maximumLength: 8_192),
            // The guard reports unreadable claims as a bad assertion.
            jws.algorithm == "RS256", let claims = try? JSONDecoder().decode(Claims.self, from: jws.payload)
        else { throw OAuthError("invalid_grant", "Bad Request: the assertion is not a JWT signed with RS256.") }
        guard let account = accounts.account(clientEmail: claims.iss) else {
            throw OAuthError("invalid_grant", "Invalid grant: account not found")
        }
        let signature = _RSA.Signing.RSASignature(rawRepresentation: jws.signature)
        let key = account.serviceAccountKey.publicKey
        guard key.isValidSignature(signature, for: SHA256.hash(data: jws.signingInput), padding: .insecurePKCS1v1_5)
        else { throw OAuthError("invalid_grant", "Invalid JWT Signature.") }
        try check(claims, of: request)
        return account
    }

    private func check(_ claims: Claims, of request: WebRequest) throws(OAuthError) {
        guard [ServiceAccount.googleTokenURL, "\(request.origin)/fcm/token"].contains(claims.aud) else {
            throw OAuthError("invalid_grant", "Invalid JWT: Failed audience check.")
        }
        let scopes = claims.scope?.split(separator: " ").map(String.init) ?? []
        guard !scopes.isEmpty, Self.scopes.isSuperset(of: scopes) else {
            throw OAuthError("invalid_scope", "Invalid OAuth scope or ID token audience provided.")
        }
        let isWithinLifetime =
            claims.exp > claims.iat && claims.exp - claims.iat <= Self.lifetime && claims.exp > seconds - Self.skew
            && claims.iat <= seconds + Self.skew
        guard isWithinLifetime else {
            throw OAuthError(
                "invalid_grant",
                "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. "
                    + "Check your iat and exp values in the JWT claim."
            )
        }
    }

    /// Returns the fields of an `application/x-www-form-urlencoded` body.
    ///
    /// The first field of a name wins.
    private static func form(_ body: ByteBuffer) -> [String: String] {
        var parts = URLComponents()
        parts.percentEncodedQuery = String(buffer: body).replacing("+", with: "%20")
        let items = parts.queryItems ?? []
        return Dictionary(items.map { ($0.name, $0.value ?? "") }) { first, _ in first }
    }
}
