package import Foundation
package import Wire

/// The user's own account, as `GET /auth/me` returns it.
package struct Account: Codable, Hashable, Sendable {
    /// A UUID in lower case.
    package var userId: String
    package var username: String?
    package var fullName: String?
    package var email: String?
    package var emailVerified: Bool
    /// Whether the account was created by `POST /auth/anonymous` and has not been registered since.
    package var isAnonymous: Bool
    package var createdAt: Date
    /// The language of texts for the user (BCP 47).
    ///
    /// Null if unknown: texts are then in English.
    package var language: String?

    package init(
        userId: String,
        username: String?,
        fullName: String?,
        email: String?,
        emailVerified: Bool,
        isAnonymous: Bool,
        createdAt: Date,
        language: String? = nil
    ) {
        self.userId = userId
        self.username = username
        self.fullName = fullName
        self.email = email
        self.emailVerified = emailVerified
        self.isAnonymous = isAnonymous
        self.createdAt = createdAt
        self.language = language
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(userId, forKey: .userId)
        try container.encode(username, forKey: .username)
        try container.encode(fullName, forKey: .fullName)
        try container.encode(email, forKey: .email)
        try container.encode(emailVerified, forKey: .emailVerified)
        try container.encode(isAnonymous, forKey: .isAnonymous)
        try container.encode(createdAt, forKey: .createdAt)
        try container.encode(language, forKey: .language)
    }
}

/// The body of `PATCH /auth/me`; an absent field stays unchanged.
package struct AccountChanges: Codable, Hashable, Sendable {
    package var username: Change<String>
    /// Null removes the name.
    package var fullName: Change<String>
    /// A language tag (BCP 47); null removes it.
    package var language: Change<String>

    package init(
        username: Change<String> = .unchanged,
        fullName: Change<String> = .unchanged,
        language: Change<String> = .unchanged
    ) {
        self.username = username
        self.fullName = fullName
        self.language = language
    }

    private enum CodingKeys: String, CodingKey { case username, fullName, language }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        username = try container.decodeChange(forKey: .username)
        fullName = try container.decodeChange(forKey: .fullName)
        language = try container.decodeChange(forKey: .language)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(username, forKey: .username)
        try container.encode(fullName, forKey: .fullName)
        try container.encode(language, forKey: .language)
    }
}
