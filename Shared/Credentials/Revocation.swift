package import Foundation

/// The end of a session whose tokens may not have expired yet.
package struct Revocation: Codable, Hashable, Sendable {
    package var sessionId: String
    /// The position in the feed; grows with each revocation.
    ///
    /// A transaction that commits late may add a position below those that were read before, so the pages of the feed
    /// overlap.
    package var serial: Int64
    /// The expiry of the session's last token, after which the revocation can be deleted.
    package var until: Date
    /// The hash of the session token, in base64url; nil for a session with access tokens.
    ///
    /// By the hash, a service rejects the token of a session that it has never looked up.
    package var tokenHash: String?

    package init(sessionId: String, serial: Int64, until: Date, tokenHash: String? = nil) {
        self.sessionId = sessionId
        self.serial = serial
        self.until = until
        self.tokenHash = tokenHash
    }
}

/// A response of auth's feed, `GET /internal/revocations?after=`.
///
/// The request waits up to 5 s for a new revocation; the response repeats those of the last 30 s.
package struct RevocationPage: Codable, Hashable, Sendable {
    package var revocations: [Revocation]
    /// The value of `after` for the next request.
    package var after: Int64

    package init(revocations: [Revocation], after: Int64) {
        self.revocations = revocations
        self.after = after
    }
}
