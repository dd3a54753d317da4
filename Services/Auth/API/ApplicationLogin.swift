/// The response of `GET /1/auth/nonce`.
package struct NewNonce: Codable, Hashable, Sendable {
    /// Valid for one login of this application, within ten minutes.
    package var nonce: String

    package init(nonce: String) {
        self.nonce = nonce
    }
}

/// The body of `POST /1/auth/login`.
package struct ApplicationLoginDraft: Codable, Hashable, Sendable {
    /// The token that the customer's account server signed.
    package var authToken: String?
    /// An alternative name of `authToken`.
    package var jwt: String?
    /// The client's own id of the device that it runs on, unique per user.
    package var deviceId: String
    /// `gcm`, `ios_sandbox` or `ios_production`.
    package var platform: String?
    package var pushToken: String?

    package init(authToken: String, deviceId: String, platform: String? = nil, pushToken: String? = nil) {
        self.authToken = authToken
        self.deviceId = deviceId
        self.platform = platform
        self.pushToken = pushToken
    }
}

/// The response of `POST /1/auth/login`.
package struct ApplicationSignIn: Codable, Hashable, Sendable {
    /// The session token, sent in `x-diuit-session-token`.
    package var session: String
    package var userId: String
    package var deviceId: String

    package init(session: String, userId: String, deviceId: String) {
        self.session = session
        self.userId = userId
        self.deviceId = deviceId
    }
}
