/// Whether a token is active, and its user (RFC 7662, section 2.2).
///
/// For an inactive token, all other fields are absent.
package struct TokenStatus: Codable, Hashable, Sendable {
    package var active: Bool
    package var iss: String?
    /// The user's id within the application.
    package var sub: String?
    /// The user's application.
    package var clientID: String?
    /// The session; the token is inactive after its end.
    package var sid: String?
    package var scope: String?
    /// In seconds since 1970.
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

/// A token to inspect or to revoke; sent as a form, as the standards require.
package struct PresentedToken: Codable, Hashable, Sendable {
    package var token: String
    /// The client's guess at the token's type.
    ///
    /// Auth detects the type by itself (RFC 7009, section 2.1).
    package var tokenTypeHint: String?

    package init(token: String) {
        self.token = token
    }

    private enum CodingKeys: String, CodingKey {
        case token
        case tokenTypeHint = "token_type_hint"
    }
}

/// The signed-in user as OpenID Connect's standard claims (OpenID Connect Core, section 5.1).
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
