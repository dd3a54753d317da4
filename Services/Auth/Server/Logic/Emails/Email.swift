import Foundation

struct Email: Sendable {
    enum Kind: String, CaseIterable, Sendable {
        /// Contains a link with which the owner of the address verifies it.
        case verify
        /// Contains a link with which the owner of the account sets a new password.
        case passwordReset = "password_reset"
        case passwordChanged = "password_changed"
        /// Sent to the former address of the account.
        case emailChanged = "email_changed"
        case secondFactorOn = "second_factor_enabled"
        case secondFactorOff = "second_factor_disabled"
        case passkeyAdded = "passkey_added"
        /// An external identity was linked to an existing account.
        case identityLinked = "identity_linked"
        case newDeviceSignIn = "new_device_sign_in"
    }

    var id: UUID
    var kind: Kind
    var address: String
    var account: UUID?
    var createdAt: Date
    /// The number of delivery attempts, including the current one.
    var attempts: Int
}

/// A link in an email; its token proves access to the mailbox.
struct EmailLink: Sendable {
    enum Purpose: String, Sendable {
        case verify, reset

        /// The lifetime of the link in seconds, which the email states.
        var lifetime: TimeInterval {
            switch self {
            case .verify: 86_400
            case .reset: 3_600
            }
        }
    }

    var purpose: Purpose
    var account: UUID
    var address: String
}
