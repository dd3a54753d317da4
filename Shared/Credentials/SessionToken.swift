import Crypto
package import Foundation
import Wire

/// The opaque credential of a session that a customer's account server asked for: 256 random bits.
///
/// Whoever has it has the session, so it is kept nowhere: auth knows its hash, and by that it is asked about.
package enum SessionToken {
    private static let size = 32
    private static let length = 43

    package static func random() -> String { Base64URL.random(bytes: size) }

    /// Whether a credential is one of these, by its form; a jwt has dots in it, and is longer.
    package static func isWellFormed(_ text: String) -> Bool {
        text.utf8.count == length && text.utf8.allSatisfy(Base64URL.isDigit)
    }

    /// What is kept of it.
    package static func hash(_ token: String) -> Data { Data(SHA256.hash(data: Data(token.utf8))) }
}

/// A session as auth tells it to the services that are shown its token.
package struct KnownSession: Codable, Hashable, Sendable {
    /// The hash that was asked about, base64url.
    package var tokenHash: String
    package var sessionId: String
    package var applicationId: String
    package var userId: String
    package var deviceId: String?
    package var expiresAt: Date
    /// The device's push service and push token, as the client gave them at sign-in; auth sends both to conversations
    /// only.
    package var platform: String?
    package var pushToken: String?

    package init(
        tokenHash: String,
        sessionId: String,
        applicationId: String,
        userId: String,
        deviceId: String?,
        expiresAt: Date,
        platform: String? = nil,
        pushToken: String? = nil
    ) {
        self.tokenHash = tokenHash
        self.sessionId = sessionId
        self.applicationId = applicationId
        self.userId = userId
        self.deviceId = deviceId
        self.expiresAt = expiresAt
        self.platform = platform
        self.pushToken = pushToken
    }
}

/// The response to auth's `GET /internal/sessions?token=`: the sessions with these token hashes that auth stores.
///
/// A session whose lifetime is over is among them until auth deletes it.
package struct KnownSessions: Codable, Hashable, Sendable {
    /// The most hashes that one request may carry.
    package static let maximum = 100

    package var sessions: [KnownSession]

    package init(sessions: [KnownSession]) {
        self.sessions = sessions
    }
}
