import Crypto
public import Foundation

/// A signer of requests with HMAC-SHA1 (RFC 5849, section 3), for an application and optionally a user.
///
/// ```swift
/// let signer = OAuth1Signer(client: application, token: grantedByAnn)
/// request.headers["Authorization"] = signer.authorization("GET", "https://api.example.com/photos?size=large")
/// ```
///
/// The signature covers a form body only. A JSON or multipart body is not signed.
public struct OAuth1Signer: Sendable {
    /// The application's credentials.
    public let client: OAuth1Credentials
    /// The user's or temporary credentials; nil for a request for temporary credentials.
    public let token: OAuth1Credentials?

    /// Creates a signer; `token` is nil for a request for temporary credentials.
    public init(client: OAuth1Credentials, token: OAuth1Credentials? = nil) {
        self.client = client
        self.token = token
    }

    /// Returns the value of the `Authorization` header; nil if `url` has no scheme or host.
    ///
    /// - Parameters:
    ///   - method: The HTTP method, in any case.
    ///   - url: The request's URL with its query, exactly as sent.
    ///   - form: The fields of the body, if its type is `application/x-www-form-urlencoded`.
    ///   - adding: Protocol parameters of an authorization step: `oauth_callback`, `oauth_verifier`.
    ///   - nonce: A text that is unique per second.
    ///   - time: The current time; servers reject requests that differ by minutes from their clock.
    /// - Returns: `OAuth oauth_consumer_key="…", …`, sorted by name.
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

    /// Returns the signature of a base string in Base64; a server compares it with the received one.
    public func signature(of base: OAuth1BaseString) -> String {
        let key = "\(PercentEncoding.encode(client.secret))&\(PercentEncoding.encode(token?.secret ?? ""))"
        let code = HMAC<Insecure.SHA1>.authenticationCode(
            for: Data(base.text.utf8),
            using: SymmetricKey(data: Data(key.utf8))
        )
        return Data(code).base64EncodedString()
    }

    /// Returns 128 random bits from the system's cryptographic generator, in hexadecimal.
    public static func randomNonce() -> String {
        var generator = SystemRandomNumberGenerator()
        return (0..<2).map { _ in
            let digits = String(generator.next(), radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }
}
