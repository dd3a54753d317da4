/// A key and its secret, of an application or of a user's grant.
///
/// An application has "client credentials" ("consumer key"). A grant has "token credentials" ("access token"), preceded
/// by "temporary credentials" during authorization. Descriptions contain the key only.
public struct OAuth1Credentials: Hashable, Sendable {
    /// The key, which requests contain.
    public let key: String
    /// The secret, which only signatures depend on.
    public let secret: String

    /// Creates credentials.
    public init(key: String, secret: String) {
        self.key = key
        self.secret = secret
    }

    /// Creates credentials from a token response (RFC 5849, sections 2.1 and 2.3); nil if the response has no token.
    public init?(form: [FormField]) {
        guard let key = form["oauth_token"], !key.isEmpty, let secret = form["oauth_token_secret"] else { return nil }
        self.init(key: key, secret: secret)
    }
}

extension OAuth1Credentials: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "OAuth1Credentials(\(key))" }
    public var debugDescription: String { description }
    /// A mirror without the secret, for `dump`.
    public var customMirror: Mirror { Mirror(self, children: ["key": key]) }
}
