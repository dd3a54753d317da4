import Foundation
package import JWTKit
import Wire

/// The profile of access tokens: an ES256 JWS according to RFC 9068.
package enum AccessToken {
    /// The `typ` of the header, which no other token of the suite has.
    package static let type = "at+jwt"
    package static let algorithm = "ES256"
    /// The `aud` of the claims: all services of the suite.
    package static let audience = "roost"
    /// The maximum length in bytes; longer tokens are rejected without parsing.
    package static let maximumLength = 4_096

    package struct Claims: JWTPayload, Hashable {
        package var iss: String
        package var aud: String
        package var sub: String
        /// The application of the user in `sub`.
        package var app: String
        /// The session; the token is invalid when it ends.
        package var sid: String
        /// Seconds since 1970, like `exp` and `nbf`.
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

        /// Checks nothing: `CredentialVerifier` checks the claims with its own clock and issuer.
        package func verify(using algorithm: some JWTAlgorithm) async throws {}
    }
}
