package import Wire

/// `PATCH /photos/me`: only what is named changes.
package struct ProfileChanges: Hashable, Sendable {
    package var fullName: String?
    /// Null takes it away.
    package var bio: Change<String>
    /// An `uploadId` of one's own; null takes the picture away.
    package var profilePicture: Change<String>

    package init(
        fullName: String? = nil,
        bio: Change<String> = .unchanged,
        profilePicture: Change<String> = .unchanged
    ) {
        self.fullName = fullName
        self.bio = bio
        self.profilePicture = profilePicture
    }
}

extension ProfileChanges: Codable {
    private enum CodingKeys: CodingKey { case fullName, bio, profilePicture }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        fullName = try container.decodeIfGiven(String.self, forKey: .fullName)
        bio = try container.decodeChange(forKey: .bio)
        profilePicture = try container.decodeChange(forKey: .profilePicture)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(fullName, forKey: .fullName)
        try container.encode(bio, forKey: .bio)
        try container.encode(profilePicture, forKey: .profilePicture)
    }
}

/// `GET` and `PUT /photos/me/privacy`.
package struct Privacy: Codable, Hashable, Sendable {
    /// Whether one is found by `GET /photos/people?query=`.
    package var searchable: Bool

    package init(searchable: Bool) { self.searchable = searchable }
}
