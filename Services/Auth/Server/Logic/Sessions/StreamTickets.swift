import AuthAPI
import Credentials
import Foundation
import Wire

/// Issues stream tickets: signed, short-lived credentials for clients that cannot send header fields.
struct StreamTickets: Sendable {
    let keys: SigningKeys
    /// The `iss` of tickets and of access tokens.
    let issuer: String
    let now: @Sendable () -> Date

    /// Issues a ticket of the session that made the request.
    ///
    /// - Throws: `invalid_path` for a path that no ticket can be bound to.
    func issue(_ draft: StreamTicketDraft, for identity: Identity) throws -> IssuedStreamTicket {
        if let path = draft.path, !StreamTicket.isPath(path) {
            throw APIError.invalid(
                "path",
                "\"path\" must begin with a slash and have at most \(StreamTicket.maximumPath) characters: letters, "
                    + "digits, and / - . _ ~",
                code: "invalid_path"
            )
        }
        let issued = Int64(now().timeIntervalSince1970)
        // A ticket must not outlive the credential that it was requested with.
        let left = Int64(min(max(identity.expires.timeIntervalSince(now()), 1), Double(StreamTicket.lifetime)))
        let claims = StreamTicket.Claims(
            iss: issuer,
            sub: identity.user.user,
            app: identity.user.application,
            sid: identity.session,
            iat: issued,
            exp: issued + left,
            path: draft.path
        )
        return IssuedStreamTicket(ticket: try keys.sign(claims), expiresIn: Int(left))
    }
}
