package import Wire

/// A post to create, with a text, with `uploadIds`, or with `images` if the images have alternative texts.
package struct PostDraft: Codable, Sendable {
    /// 0 to 1,999 characters; required if there are no images.
    package var text: String?
    /// 0 to 10 uploads, without duplicates.
    package var uploadIds: [String]?
    /// Used instead of `uploadIds`.
    package var images: [ImageDraft]?

    package init(text: String? = nil, uploadIds: [String]) {
        self.text = text
        self.uploadIds = uploadIds
    }

    package init(text: String? = nil, images: [ImageDraft]) {
        self.text = text
        self.images = images
    }

    package init(text: String) {
        self.text = text
    }
}

/// An upload that becomes an image of a post.
package struct ImageDraft: Codable, Sendable {
    package var uploadId: String
    /// A description of the image for users who cannot see it; at most 1,500 characters.
    package var alt: String?

    package init(uploadId: String, alt: String? = nil) {
        self.uploadId = uploadId
        self.alt = alt
    }
}

/// A partial update of a post; absent fields stay unchanged.
package struct PostChanges: Sendable {
    package var text: String?
    /// One entry for each image, in the images' order.
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

/// A partial update of an image: an absent `alt` stays unchanged, and null removes it.
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
