import Foundation

/// A mail that is to be written.
struct Email: Sendable {
    /// What it is about.
    enum Kind: String, CaseIterable, Sendable {
        /// Has the owner of an address say that it is his.
        case verify
        /// Lets the owner of an account in again who forgot his password.
        case recover
        case passwordChanged = "password_changed"
        /// To the address that was the account's before.
        case emailChanged = "email_changed"
        case secondFactorOn = "second_factor_enabled"
        case secondFactorOff = "second_factor_disabled"
        case passkeyAdded = "passkey_added"
        /// An account elsewhere was linked to one that was there.
        case identityLinked = "identity_linked"
        /// Somebody has signed in on a device that is new.
        case newDeviceSignIn = "new_device_sign_in"
    }

    var id: UUID
    var kind: Kind
    var address: String
    var account: UUID?
    var createdAt: Date
    /// Tries so far, this one too.
    var attempts: Int
}

/// A link in a mail: whoever shows its token reads the mailbox that it was sent to.
struct EmailLink: Sendable {
    enum Purpose: String, Sendable {
        case verify, reset

        /// How long it counts, in seconds; told in the mail.
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
