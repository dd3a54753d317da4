import Foundation
package import JWTKit
package import Wire

/// The profile of stream tickets: an ES256 JWS that opens event streams only.
///
/// A browser's `EventSource` cannot send header fields, so the ticket is a query parameter. It has its own `typ` and
/// `aud`, so verifiers of access tokens reject tickets and verifiers of tickets reject access tokens.
package enum StreamTicket {
    /// The `typ` of the header.
    package static let type = "ticket+jwt"
    /// The `aud` of the claims: the event streams of all services.
    package static let audience = "roost-streams"
    /// The name of the query parameter.
    package static let parameter = "ticket"
    /// The maximum validity of a ticket in seconds.
    package static let lifetime: Int64 = 60
    /// The maximum length of a ticket in bytes.
    package static let maximumLength = 2_048
    /// The maximum length in bytes of the path that a ticket is bound to.
    package static let maximumPath = 256

    package struct Claims: JWTPayload, Hashable {
        package var iss: String
        package var aud: String
        package var sub: String
        /// The application of the user in `sub`.
        package var app: String
        /// The session; the ticket is invalid when it ends.
        package var sid: String
        /// Seconds since 1970, like `exp`.
        package var iat: Int64
        package var exp: Int64
        /// The path of the streams that the ticket opens, including those below it; nil for all streams.
        package var path: String?

        package init(iss: String, sub: String, app: String, sid: String, iat: Int64, exp: Int64, path: String? = nil) {
            self.iss = iss
            aud = StreamTicket.audience
            self.sub = sub
            self.app = app
            self.sid = sid
            self.iat = iat
            self.exp = exp
            self.path = path
        }

        /// Checks nothing: `CredentialVerifier` checks the claims with its own clock and issuer.
        package func verify(using algorithm: some JWTAlgorithm) async throws {}
    }

    /// Returns whether a ticket can be bound to a path: absolute, with only slashes and the unreserved characters of
    /// RFC 3986.
    package static func isPath(_ text: String) -> Bool {
        guard text.utf8.first == UInt8(ascii: "/"), text.utf8.count <= maximumPath else { return false }
        return text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "-"), UInt8(ascii: "."),
                UInt8(ascii: "_"), UInt8(ascii: "~"):
                true
            default: false
            }
        }
    }

    /// Returns whether a ticket that is bound to `prefix` opens the stream at `path`.
    static func opens(_ path: String, boundTo prefix: String?) -> Bool {
        guard let prefix else { return true }
        guard path.utf8.starts(with: prefix.utf8) else { return false }
        // A ticket for `/photos` must not open `/photosets`.
        return path.utf8.count == prefix.utf8.count || prefix.utf8.last == UInt8(ascii: "/")
            || path.utf8.dropFirst(prefix.utf8.count).first == UInt8(ascii: "/")
    }
}

extension CredentialVerifier {
    private static let ticketLeeway: Int64 = 5

    /// Returns the identity of a stream ticket for the stream at `path`.
    ///
    /// - Parameters:
    ///   - ticket: the ticket.
    ///   - path: the path of the stream.
    /// - Returns: the identity.
    /// - Throws: `invalid_token`, `token_expired`, `session_ended`; `ticket_path_mismatch` if the ticket is bound to
    ///   another path; `unavailable` while no keys are loaded.
    package func identify(ticket: String, for path: String) async throws -> Identity {
        guard Credential.isReadable(ticket) else { throw Self.invalidTicket }
        let claims: StreamTicket.Claims = try await signedClaims(
            of: ticket,
            type: StreamTicket.type,
            maximumLength: StreamTicket.maximumLength,
            otherwise: Self.invalidTicket
        )
        return try identity(of: claims, for: path)
    }

    private func identity(of claims: StreamTicket.Claims, for path: String) throws -> Identity {
        let current = Int64(now().timeIntervalSince1970)
        let (validity, overflows) = claims.exp.subtractingReportingOverflow(claims.iat)
        guard claims.iss == issuer, claims.aud == StreamTicket.audience, !claims.app.isEmpty, !claims.sid.isEmpty,
            (1...255).contains(claims.sub.unicodeScalars.count), !overflows,
            (1...StreamTicket.lifetime).contains(validity), claims.iat <= current + Self.ticketLeeway
        else { throw Self.invalidTicket }
        guard claims.exp > current else {
            throw APIError(
                .forbidden,
                "token_expired",
                "the ticket has expired; request another one with POST /auth/tickets",
                field: StreamTicket.parameter
            )
        }
        guard !hasEnded(claims.sid) else {
            throw APIError(
                .forbidden,
                "session_ended",
                "the session of the ticket has ended; sign in again",
                field: StreamTicket.parameter
            )
        }
        guard StreamTicket.opens(path, boundTo: claims.path) else {
            throw APIError(
                .forbidden,
                "ticket_path_mismatch",
                "the ticket is valid only for streams at the path that it was requested for",
                field: StreamTicket.parameter
            )
        }
        return Identity(
            user: User.ID(application: claims.app, user: claims.sub),
            session: claims.sid,
            expires: Date(timeIntervalSince1970: TimeInterval(claims.exp))
        )
    }

    package static let invalidTicket = APIError(
        .forbidden,
        "invalid_token",
        "the request must have exactly one \"ticket\" from POST /auth/tickets and no other credential",
        field: StreamTicket.parameter
    )
}
