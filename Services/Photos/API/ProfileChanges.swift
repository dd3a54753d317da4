package import Wire

/// The body of `PATCH /photos/me`; absent fields stay unchanged.
package struct ProfileChanges: Hashable, Sendable {
    package var fullName: String?
    /// Null removes the bio.
    package var bio: Change<String>
    /// The `uploadId` of an upload of the caller; null removes the avatar.
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

/// The body of `PUT /photos/me/privacy`, and the response to `GET` and `PUT`.
package struct Privacy: Codable, Hashable, Sendable {
    /// Whether `GET /photos/people?query=` finds the user.
    package var searchable: Bool

    package init(searchable: Bool) { self.searchable = searchable }
}
