/// A key and its secret: those of an application ("client credentials", "consumer key") or of what a user granted it
/// ("token credentials", "access token"; "temporary credentials" on the way there).
///
/// Printing one shows its key alone.
public struct OAuth1Credentials: Hashable, Sendable {
    public let key: String
    public let secret: String

    public init(key: String, secret: String) {
        self.key = key
        self.secret = secret
    }

    /// The token of an answer to a request for one (RFC 5849, sections 2.1 and 2.3); nil where there is none in it.
    public init?(form: [FormField]) {
        guard let key = form["oauth_token"], !key.isEmpty, let secret = form["oauth_token_secret"] else { return nil }
        self.init(key: key, secret: secret)
    }
}

extension OAuth1Credentials: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "OAuth1Credentials(\(key))" }
    public var debugDescription: String { description }
    /// So that no `dump` shows the secret either.
    public var customMirror: Mirror { Mirror(self, children: ["key": key]) }
}
