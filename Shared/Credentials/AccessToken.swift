import Foundation
package import JWTKit
import Wire

/// The access token's profile: an ES256 JWS after RFC 9068.
package enum AccessToken {
    /// The `typ` of its header, which no other token of the suite has.
    package static let type = "at+jwt"
    package static let algorithm = "ES256"
    /// The `aud` of its claims: all services of the suite.
    package static let audience = "roost"
    /// Longer text is refused unread, in bytes.
    package static let maximumLength = 4_096

    package struct Claims: JWTPayload, Hashable {
        package var iss: String
        package var aud: String
        package var sub: String
        /// The application that `sub` belongs to.
        package var app: String
        /// The session, whose end is the token's end.
        package var sid: String
        /// Seconds since 1970, as `exp` and `nbf`.
        package var iat: Int64
        package var exp: Int64
        package var nbf: Int64?
        package var scope: String?

        package init(iss: String, sub: String, app: String, sid: String, iat: Int64, exp: Int64, scope: String? = nil) {
            self.iss = iss
            self.aud = AccessToken.audience
            self.sub = sub
            self.app = app
            self.sid = sid
            self.iat = iat
            self.exp = exp
            self.scope = scope
        }

        /// Nothing: `CredentialVerifier` checks the claims, with the clock and the issuer it was given.
        package func verify(using algorithm: some JWTAlgorithm) async throws {}
    }
}
