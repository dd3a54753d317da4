/// What `POST /auth/email` asks for.
package struct EmailDraft: Codable, Hashable, Sendable {
    package var email: String
    /// Needed where one signed in more than five minutes ago.
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

/// What `POST /auth/email/verify` asks for.
package struct EmailVerification: Codable, Hashable, Sendable {
    /// From the link in the mail.
    package var token: String
    /// The account's password, which shows without a session that the verifier holds the account.
    package var password: String?

    package init(token: String, password: String? = nil) {
        self.token = token
        self.password = password
    }
}

/// What `POST /auth/password/forgot` asks for.
package struct PasswordResetRequest: Codable, Hashable, Sendable {
    package var email: String

    package init(email: String) {
        self.email = email
    }
}

/// What `POST /auth/password/reset` asks for.
package struct PasswordReset: Codable, Hashable, Sendable {
    /// From the link in the mail.
    package var token: String
    package var newPassword: String

    package init(token: String, newPassword: String) {
        self.token = token
        self.newPassword = newPassword
    }
}

/// What `POST /auth/password` asks for.
package struct PasswordChange: Codable, Hashable, Sendable {
    /// May be left out where the account has none yet, within five minutes of the sign-in.
    package var currentPassword: String?
    package var newPassword: String

    package init(currentPassword: String?, newPassword: String) {
        self.currentPassword = currentPassword
        self.newPassword = newPassword
    }
}
