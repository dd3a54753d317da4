package import Foundation

/// What `POST /auth/mfa/totp` asks for; the body may be left out.
package struct TOTPDraft: Codable, Hashable, Sendable {
    /// Needed where one signed in more than five minutes ago.
    package var password: String?

    package init(password: String? = nil) {
        self.password = password
    }
}

/// The answer to it, for an authenticator app; shown this once.
package struct NewTOTP: Codable, Hashable, Sendable {
    /// 32 characters of base32.
    package var secret: String
    /// `otpauth://totp/…`, for a QR code.
    package var uri: String

    package init(secret: String, uri: String) {
        self.secret = secret
        self.uri = uri
    }
}

/// A code of the authenticator app, or a recovery code.
package struct SecondFactorCode: Codable, Hashable, Sendable {
    package var code: String

    package init(code: String) {
        self.code = code
    }
}

/// The answer to `POST /auth/mfa/totp/confirm`: codes that each get in once without the app; shown this once.
package struct RecoveryCodes: Codable, Hashable, Sendable {
    package var recoveryCodes: [String]

    package init(recoveryCodes: [String]) {
        self.recoveryCodes = recoveryCodes
    }
}

/// What an export says of the authenticator app.
package struct SecondFactorSummary: Codable, Hashable, Sendable {
    /// When the app showed that it has the secret.
    package var confirmedAt: Date
    package var recoveryCodesLeft: Int

    package init(confirmedAt: Date, recoveryCodesLeft: Int) {
        self.confirmedAt = confirmedAt
        self.recoveryCodesLeft = recoveryCodesLeft
    }
}

/// What `POST /auth/login/mfa` asks for.
package struct SecondFactorLogin: Codable, Hashable, Sendable {
    /// From the answer to the login.
    package var challenge: String
    /// Of the authenticator app, or a recovery code.
    package var code: String

    package init(challenge: String, code: String) {
        self.challenge = challenge
        self.code = code
    }
}
