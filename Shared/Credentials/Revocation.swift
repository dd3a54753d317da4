package import Foundation

/// A session that ended while tokens of it may still be about.
package struct Revocation: Codable, Hashable, Sendable {
    package var sessionId: String
    /// Grows with each; one that commits late may lie below what was read before, which is why answers overlap.
    package var serial: Int64
    /// When the last token of the session has expired, and the revocation may be forgotten.
    package var until: Date
    /// The hash of the session's token, base64url; nil for a session that has access tokens.
    ///
    /// A service that has not seen the session recognises its token by it.
    package var tokenHash: String?

    package init(sessionId: String, serial: Int64, until: Date, tokenHash: String? = nil) {
        self.sessionId = sessionId
        self.serial = serial
        self.until = until
        self.tokenHash = tokenHash
    }
}

/// An answer of auth's feed, `GET /internal/revocations?after=`.
///
/// It is held open up to 5 s while there is nothing new, and repeats what was added in the last 30 s.
package struct RevocationPage: Codable, Hashable, Sendable {
    package var revocations: [Revocation]
    /// What to ask with next.
    package var after: Int64

    package init(revocations: [Revocation], after: Int64) {
        self.revocations = revocations
        self.after = after
    }
}
