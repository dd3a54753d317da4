package import Foundation
import Wire

/// Something that happened to an account and that its owner may want to know of, as `GET /auth/audit` lists it.
package struct SecurityEvent: Codable, Hashable, Sendable, PageItem {
    package static let pluralName = "events"

    /// What can happen; stable, as it stands in the list.
    package enum Kind: String, CaseIterable, Sendable {
        case signedIn = "login.succeeded"
        case signInFailed = "login.failed"
        case sessionEnded = "session.ended"
        /// A refresh token came twice, and not as one whose answer was lost: somebody has a copy. The session ended.
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
        /// The owner of the address came in by it, and the credentials from before ended.
        case credentialsEnded = "credentials.ended"
        case administrationGranted = "administration.granted"
        case administrationRevoked = "administration.revoked"
        case disabled = "account.disabled"
        case enabled = "account.enabled"
        case exported = "account.exported"
    }

    package var id: String
    /// One of `Kind`, or what a newer release calls it.
    package var kind: String
    package var at: Date
    /// The session that it happened in or to.
    package var sessionId: String?
    /// As the client called itself when it signed in.
    package var deviceId: String?
    package var userAgent: String?
    /// Where the request came from.
    package var address: String?
    /// What is more to be said: the provider of an identity, say.
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

/// Somebody has signed in on a device that he has not signed in on before: his others are to show it.
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
