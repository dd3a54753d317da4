/// The body of `POST /auth/register`; `username` or `email` is required.
package struct AccountDraft: Codable, Hashable, Sendable {
    package var username: String?
    package var password: String
    package var email: String?
    package var fullName: String?

    package init(username: String?, password: String, email: String? = nil, fullName: String? = nil) {
        self.username = username
        self.password = password
        self.email = email
        self.fullName = fullName
    }

    /// Decodes a missing password as an empty one, so that one error lists it with all other invalid fields.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        username = try container.decodeIfPresent(String.self, forKey: .username)
        password = try container.decodeIfPresent(String.self, forKey: .password) ?? ""
        email = try container.decodeIfPresent(String.self, forKey: .email)
        fullName = try container.decodeIfPresent(String.self, forKey: .fullName)
    }
}

/// The response of a registration (`success` is from seed im).
package struct RegistrationResult: Codable, Hashable, Sendable {
    package var success: Bool
    /// A UUID in lower case.
    package var userId: String

    package init(userId: String) {
        self.success = true
        self.userId = userId
    }
}

/// The response of a request that returns no data.
package struct Done: Codable, Hashable, Sendable {
    package var success: Bool

    package init() {
        success = true
    }
}
