/// The body of `POST /auth/login`.
package struct LoginDraft: Codable, Hashable, Sendable {
    /// A username, or a verified e-mail address.
    package var username: String
    package var password: String
    /// The client's own id of the device that it runs on.
    ///
    /// Without `deviceToken`, auth recognizes the device by this id in a network where the device signed in before.
    package var deviceId: String?
    /// The token from the response of an earlier sign-in on this device.
    ///
    /// With it, the device can sign in while failures of other clients throttle the account.
    package var deviceToken: String?

    package init(username: String, password: String, deviceId: String? = nil, deviceToken: String? = nil) {
        self.username = username
        self.password = password
        self.deviceId = deviceId
        self.deviceToken = deviceToken
    }
}

/// The body of `POST /auth/anonymous`; it may be absent.
package struct AnonymousDraft: Codable, Hashable, Sendable {
    package var deviceId: String?

    package init(deviceId: String? = nil) {
        self.deviceId = deviceId
    }
}

/// The body of `POST /auth/refresh`.
package struct RefreshDraft: Codable, Hashable, Sendable {
    package var refreshToken: String
    /// The `deviceId` of the sign-in.
    ///
    /// With it, auth still accepts a token for some seconds after its successor was used.
    package var deviceId: String?

    package init(refreshToken: String, deviceId: String? = nil) {
        self.refreshToken = refreshToken
        self.deviceId = deviceId
    }
}

/// The response of every kind of sign-in, and of a refresh.
package struct SignIn: Codable, Hashable, Sendable {
    /// The access token.
    package var jwt: String
    /// Opaque, and new in each response.
    package var refreshToken: String
    /// Seconds until `jwt` expires.
    package var expiresIn: Int
    /// A UUID in lower case.
    package var userId: String
    /// An opaque token for the next login on this device; nil for a refresh and an anonymous account.
    package var deviceToken: String?

    package init(
        jwt: String,
        refreshToken: String,
        expiresIn: Int,
        userId: String,
        deviceToken: String? = nil
    ) {
        self.jwt = jwt
        self.refreshToken = refreshToken
        self.expiresIn = expiresIn
        self.userId = userId
        self.deviceToken = deviceToken
    }
}
