package import Foundation

/// The body of `POST /auth/mfa/totp`; it may be absent.
package struct TOTPDraft: Codable, Hashable, Sendable {
    /// Required if the session signed in more than five minutes ago.
    package var password: String?

    package init(password: String? = nil) {
        self.password = password
    }
}

/// The response of `POST /auth/mfa/totp`, for an authenticator app; returned only this once.
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

/// A code from the authenticator app, or a recovery code.
package struct SecondFactorCode: Codable, Hashable, Sendable {
    package var code: String

    package init(code: String) {
        self.code = code
    }
}

/// The response of `POST /auth/mfa/totp/confirm`; returned only this once.
///
/// Each code replaces one code of the app.
package struct RecoveryCodes: Codable, Hashable, Sendable {
    package var recoveryCodes: [String]

    package init(recoveryCodes: [String]) {
        self.recoveryCodes = recoveryCodes
    }
}

/// The second factor in an account export.
package struct SecondFactorSummary: Codable, Hashable, Sendable {
    /// When the user confirmed the authenticator app with its first code.
    package var confirmedAt: Date
    package var recoveryCodesLeft: Int

    package init(confirmedAt: Date, recoveryCodesLeft: Int) {
        self.confirmedAt = confirmedAt
        self.recoveryCodesLeft = recoveryCodesLeft
    }
}

/// The body of `POST /auth/login/mfa`.
package struct SecondFactorLogin: Codable, Hashable, Sendable {
    /// The challenge from the response of the login.
    package var challenge: String
    /// A code from the authenticator app, or a recovery code.
    package var code: String

    package init(challenge: String, code: String) {
        self.challenge = challenge
        self.code = code
    }
}
