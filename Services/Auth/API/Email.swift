/// The body of `POST /auth/email`.
package struct EmailDraft: Codable, Hashable, Sendable {
    package var email: String
    /// Required if the session signed in more than five minutes ago.
    package var password: String?

    package init(email: String, password: String? = nil) {
        self.email = email
        self.password = password
    }
}

/// The body of `POST /auth/email/resend`.
package struct VerificationRequest: Codable, Hashable, Sendable {
    package var email: String

    package init(email: String) {
        self.email = email
    }
}

/// The body of `POST /auth/email/verify`.
package struct EmailVerification: Codable, Hashable, Sendable {
    /// The token of the link in the email.
    package var token: String
    /// The account's password, which proves without a session that the verifier owns the account.
    package var password: String?

    package init(token: String, password: String? = nil) {
        self.token = token
        self.password = password
    }
}

/// The body of `POST /auth/password/forgot`.
package struct PasswordResetRequest: Codable, Hashable, Sendable {
    package var email: String

    package init(email: String) {
        self.email = email
    }
}

/// The body of `POST /auth/password/reset`.
package struct PasswordReset: Codable, Hashable, Sendable {
    /// The token of the link in the email.
    package var token: String
    package var newPassword: String

    package init(token: String, newPassword: String) {
        self.token = token
        self.newPassword = newPassword
    }
}

/// The body of `POST /auth/password`.
package struct PasswordChange: Codable, Hashable, Sendable {
    /// May be absent within five minutes of the sign-in if the account has no password yet.
    package var currentPassword: String?
    package var newPassword: String

    package init(currentPassword: String?, newPassword: String) {
        self.currentPassword = currentPassword
        self.newPassword = newPassword
    }
}
