/// What `POST /auth/login` asks for.
package struct LoginDraft: Codable, Hashable, Sendable {
    /// A username, or a verified e-mail address.
    package var username: String
    package var password: String
    /// The client's own id of the device it runs on.
    ///
    /// A client without `deviceToken` is recognised by it in the network that the device has signed in from before.
    package var deviceId: String?
    /// From the response to an earlier sign-in on this device.
    ///
    /// With it the device can still sign in while other clients' failures slow the account down.
    package var deviceToken: String?

    package init(username: String, password: String, deviceId: String? = nil, deviceToken: String? = nil) {
        self.username = username
        self.password = password
        self.deviceId = deviceId
        self.deviceToken = deviceToken
    }
}

/// What `POST /auth/anonymous` asks for; the body may be left out.
package struct AnonymousDraft: Codable, Hashable, Sendable {
    package var deviceId: String?

    package init(deviceId: String? = nil) {
        self.deviceId = deviceId
    }
}

/// What `POST /auth/refresh` asks for.
package struct RefreshDraft: Codable, Hashable, Sendable {
    package var refreshToken: String
    /// That of the sign-in.
    ///
    /// With it, a token whose successor was used is still taken for some seconds.
    package var deviceId: String?

    package init(refreshToken: String, deviceId: String? = nil) {
        self.refreshToken = refreshToken
        self.deviceId = deviceId
    }
}

/// The answer to every way of signing in, and to a refresh.
package struct SignIn: Codable, Hashable, Sendable {
    /// The access token.
    package var jwt: String
    /// Opaque, and new each time.
    package var refreshToken: String
    /// Seconds until `jwt` expires.
    package var expiresIn: Int
    /// A UUID in lower case.
    package var userId: String
    /// For the next login on this device; opaque, and nil for a refresh and an anonymous account.
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
