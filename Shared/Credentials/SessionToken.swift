import Crypto
package import Foundation
import Wire

/// The opaque credential of a session that a customer's account server requested: 256 random bits.
///
/// The token alone gives access to the session, so no service stores it. Auth stores its hash, by which other services
/// look the session up.
package enum SessionToken {
    private static let size = 32
    private static let length = 43

    package static func random() -> String { Base64URL.random(bytes: size) }

    /// Returns whether a credential has the form of a session token; a jwt is longer and contains dots.
    package static func isWellFormed(_ text: String) -> Bool {
        text.utf8.count == length && text.utf8.allSatisfy(Base64URL.isDigit)
    }

    /// Returns the hash that auth stores.
    package static func hash(_ token: String) -> Data { Data(SHA256.hash(data: Data(token.utf8))) }
}

/// A session, as auth returns it to services that receive its token.
package struct KnownSession: Codable, Hashable, Sendable {
    /// The hash that was looked up, in base64url.
    package var tokenHash: String
    package var sessionId: String
    package var applicationId: String
    package var userId: String
    package var deviceId: String?
    package var expiresAt: Date
    /// The device's push service and push token, as the client sent them at sign-in.
    ///
    /// Auth sends both only to conversations.
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

/// The response to auth's `GET /internal/sessions?token=`: the sessions with these token hashes.
///
/// Expired sessions are included until auth deletes them.
package struct KnownSessions: Codable, Hashable, Sendable {
    /// The maximum number of hashes in one request.
    package static let maximum = 100

    package var sessions: [KnownSession]

    package init(sessions: [KnownSession]) {
        self.sessions = sessions
    }
}
