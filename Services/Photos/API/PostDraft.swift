package import Wire

/// A post to create: a text, `uploadIds`, or `images` where the images have alternative texts.
package struct PostDraft: Codable, Sendable {
    /// 0 to 1,999 characters; required where there are no images.
    package var text: String?
    /// 0 to 10, each once.
    package var uploadIds: [String]?
    /// Instead of `uploadIds`.
    package var images: [ImageDraft]?

    package init(text: String? = nil, uploadIds: [String]) {
        self.text = text
        self.uploadIds = uploadIds
    }

    package init(text: String? = nil, images: [ImageDraft]) {
        self.text = text
        self.images = images
    }

    /// A post without images.
    package init(text: String) {
        self.text = text
    }
}

/// An upload that becomes an image of a post.
package struct ImageDraft: Codable, Sendable {
    package var uploadId: String
    /// What is to be seen on it, for those who do not see it; at most 1,500 characters.
    package var alt: String?

    package init(uploadId: String, alt: String? = nil) {
        self.uploadId = uploadId
        self.alt = alt
    }
}

/// What one asks to have changed of a post: only what is named.
package struct PostChanges: Sendable {
    package var text: String?
    /// One for each image, in their order.
    package var images: [ImageChanges]?

    package init(text: String? = nil, images: [ImageChanges]? = nil) {
        self.text = text
        self.images = images
    }
}

extension PostChanges: Codable {
    private enum CodingKeys: CodingKey { case text, images }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        text = try container.decodeIfGiven(String.self, forKey: .text)
        images = try container.decodeIfGiven([ImageChanges].self, forKey: .images)
    }
}

/// What one asks to have changed of an image: its alternative text, where it is named; null takes it away.
package struct ImageChanges: Sendable {
    package var alt: Change<String>

    package init(alt: Change<String> = .unchanged) {
        self.alt = alt
    }
}

extension ImageChanges: Codable {
    private enum CodingKeys: CodingKey { case alt }

    package init(from decoder: any Decoder) throws {
        alt = try decoder.container(keyedBy: CodingKeys.self).decodeChange(forKey: .alt)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(alt, forKey: .alt)
    }
}
