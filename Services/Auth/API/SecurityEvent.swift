package import Foundation
import Wire

/// A security event of an account, as `GET /auth/audit` lists it for its owner.
package struct SecurityEvent: Codable, Hashable, Sendable, PageItem {
    package static let pluralName = "events"

    /// The kinds of events; the raw values are stable public names.
    package enum Kind: String, CaseIterable, Sendable {
        case signedIn = "login.succeeded"
        case signInFailed = "login.failed"
        case sessionEnded = "session.ended"
        /// A refresh token was used twice without a lost response, so an attacker may have a copy.
        ///
        /// Auth ended the session.
        case refreshTokenReused = "refresh_token.reused"
        case passwordChanged = "password.changed"
        case passwordReset = "password.reset"
        case emailChanged = "email.changed"
        case totpAdded = "totp.added"
        case totpRemoved = "totp.removed"
        case recoveryCodeUsed = "recovery_code.used"
        case passkeyAdded = "passkey.added"
        case passkeyRemoved = "passkey.removed"
        case identityLinked = "identity.linked"
        case identityUnlinked = "identity.unlinked"
        /// The owner of the e-mail address signed in with it, and credentials older than that proof ended.
        case credentialsEnded = "credentials.ended"
        case administrationGranted = "administration.granted"
        case administrationRevoked = "administration.revoked"
        case disabled = "account.disabled"
        case enabled = "account.enabled"
        case exported = "account.exported"
    }

    package var id: String
    /// The raw value of a `Kind`, or a kind of a newer release.
    package var kind: String
    package var at: Date
    /// The session in which the event happened, or that it affected.
    package var sessionId: String?
    /// The device id that the client sent at sign-in.
    package var deviceId: String?
    package var userAgent: String?
    /// The client's IP address.
    package var address: String?
    /// Further information, such as the identity's provider.
    package var detail: String?

    package init(
        id: String,
        kind: String,
        at: Date,
        sessionId: String? = nil,
        deviceId: String? = nil,
        userAgent: String? = nil,
        address: String? = nil,
        detail: String? = nil
    ) {
        self.id = id
        self.kind = kind
        self.at = at
        self.sessionId = sessionId
        self.deviceId = deviceId
        self.userAgent = userAgent
        self.address = address
        self.detail = detail
    }
}

/// The event of a first sign-in on a new device; the user's other devices show it.
package struct NewDeviceSignIn: EventContent, Hashable {
    package static let type = "device.new_sign_in"

    package var applicationId: String
    package var userId: String
    package var sessionId: String
    package var deviceId: String?
    package var userAgent: String?
    package var at: Date

    package init(
        applicationId: String,
        userId: String,
        sessionId: String,
        deviceId: String?,
        userAgent: String?,
        at: Date
    ) {
        self.applicationId = applicationId
        self.userId = userId
        self.sessionId = sessionId
        self.deviceId = deviceId
        self.userAgent = userAgent
        self.at = at
    }

    package var key: String { User.ID(application: applicationId, user: userId).eventKey }
}
