import Crypto
public import Foundation

/// Signs requests with HMAC-SHA1, as one application for one user (RFC 5849, section 3).
///
/// ```swift
/// let signer = OAuth1Signer(client: application, token: grantedByAnn)
/// request.headers["Authorization"] = signer.authorization("GET", "https://api.example.com/photos?size=large")
/// ```
///
/// Of a body only a form is signed: a body of JSON or multipart has no part in the signature.
public struct OAuth1Signer: Sendable {
    public let client: OAuth1Credentials
    public let token: OAuth1Credentials?

    /// Without a token while there is none: when temporary credentials are asked for.
    public init(client: OAuth1Credentials, token: OAuth1Credentials? = nil) {
        self.client = client
        self.token = token
    }

    /// The value of the `Authorization` header; nil where `url` is none with a scheme and a host.
    ///
    /// - Parameters:
    ///   - method: In any case.
    ///   - url: As it is sent, with its query.
    ///   - form: The body, where it is `application/x-www-form-urlencoded`.
    ///   - adding: Parameters of the protocol that a step of the authorization has: `oauth_callback`, `oauth_verifier`.
    ///   - nonce: Never the same twice within one second.
    ///   - time: Servers refuse what is minutes off theirs.
    /// - Returns: `OAuth oauth_consumer_key="…", …`, in the names' order.
    public func authorization(
        _ method: String,
        _ url: String,
        form: [FormField] = [],
        adding: [FormField] = [],
        nonce: String = Self.randomNonce(),
        time: Date = Date()
    ) -> String? {
        var fields = [
            FormField("oauth_consumer_key", client.key),
            FormField("oauth_nonce", nonce),
            FormField("oauth_signature_method", "HMAC-SHA1"),
            FormField("oauth_timestamp", String(Int(time.timeIntervalSince1970))),
            FormField("oauth_version", "1.0"),
        ]
        if let token { fields.append(FormField("oauth_token", token.key)) }
        fields += adding
        guard let base = OAuth1BaseString(method: method, url: url, parameters: fields + form) else { return nil }
        fields.append(FormField("oauth_signature", signature(of: base)))
        let pairs =
            fields
            .sorted { $0.name < $1.name }
            .map { "\(PercentEncoding.encode($0.name))=\"\(PercentEncoding.encode($0.value))\"" }
        return "OAuth \(pairs.joined(separator: ", "))"
    }

    /// The signature itself, in Base64; a server compares it with the one it was sent.
    public func signature(of base: OAuth1BaseString) -> String {
        let key = "\(PercentEncoding.encode(client.secret))&\(PercentEncoding.encode(token?.secret ?? ""))"
        let code = HMAC<Insecure.SHA1>.authenticationCode(
            for: Data(base.text.utf8),
            using: SymmetricKey(data: Data(key.utf8))
        )
        return Data(code).base64EncodedString()
    }

    /// 128 random bits from the system's generator.
    public static func randomNonce() -> String {
        var generator = SystemRandomNumberGenerator()
        return (0..<2).map { _ in
            let digits = String(generator.next(), radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }
}
