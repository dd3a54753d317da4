/// Whether a token counts, and for whom (RFC 7662, section 2.2).
///
/// Of one that does not, nothing else is told.
package struct TokenStatus: Codable, Hashable, Sendable {
    package var active: Bool
    package var iss: String?
    /// The user, by his id in his application.
    package var sub: String?
    /// The application that the user is of.
    package var clientID: String?
    /// The session, whose end is the token's end.
    package var sid: String?
    package var scope: String?
    /// Seconds since 1970.
    package var exp: Int64?
    /// `Bearer`.
    package var tokenType: String?

    package static let inactive = TokenStatus(active: false)

    package init(
        active: Bool,
        iss: String? = nil,
        sub: String? = nil,
        clientID: String? = nil,
        sid: String? = nil,
        scope: String? = nil,
        exp: Int64? = nil,
        tokenType: String? = nil
    ) {
        self.active = active
        self.iss = iss
        self.sub = sub
        self.clientID = clientID
        self.sid = sid
        self.scope = scope
        self.exp = exp
        self.tokenType = tokenType
    }

    private enum CodingKeys: String, CodingKey {
        case active, iss, sub, sid, scope, exp
        case clientID = "client_id"
        case tokenType = "token_type"
    }
}

/// A token that something is asked about, or that is to end; a form, as the standards have it.
package struct PresentedToken: Codable, Hashable, Sendable {
    package var token: String
    /// What the client takes it for; what it is shows by itself (RFC 7009, section 2.1).
    package var tokenTypeHint: String?

    package init(token: String) {
        self.token = token
    }

    private enum CodingKeys: String, CodingKey {
        case token
        case tokenTypeHint = "token_type_hint"
    }
}

/// Who is signed in, in OpenID Connect's words (OpenID Connect Core, section 5.1).
package struct UserInfo: Codable, Hashable, Sendable {
    package var sub: String
    package var name: String?
    package var preferredUsername: String?
    package var email: String?
    package var isEmailVerified: Bool?

    package init(_ account: Account) {
        sub = account.userId
        name = account.fullName
        preferredUsername = account.username
        email = account.email
        isEmailVerified = account.email == nil ? nil : account.emailVerified
    }

    private enum CodingKeys: String, CodingKey {
        case sub, name, email
        case preferredUsername = "preferred_username"
        case isEmailVerified = "email_verified"
    }
}
