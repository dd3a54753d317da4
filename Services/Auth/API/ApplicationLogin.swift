/// The answer of `GET /1/auth/nonce`.
package struct NewNonce: Codable, Hashable, Sendable {
    /// For one login of this application, within ten minutes.
    package var nonce: String

    package init(nonce: String) {
        self.nonce = nonce
    }
}

/// What `POST /1/auth/login` asks for.
package struct ApplicationLoginDraft: Codable, Hashable, Sendable {
    /// What the account server has signed.
    package var authToken: String?
    /// Another name for it.
    package var jwt: String?
    /// The client's own id of the device it runs on, unique among the user's.
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

/// The answer to it.
package struct ApplicationSignIn: Codable, Hashable, Sendable {
    /// The session's token, for `x-diuit-session-token`.
    package var session: String
    package var userId: String
    package var deviceId: String

    package init(session: String, userId: String, deviceId: String) {
        self.session = session
        self.userId = userId
        self.deviceId = deviceId
    }
}
