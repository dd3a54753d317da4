import Foundation
import PhotosAPI
import Wire

/// What a post and a comment may be.
enum PostRules {
    static let maximumText = 1_999
    static let images = 1...10
    /// Of an alternative text, in characters.
    static let maximumAlt = 1_500
    /// Of an upload's id, which is longer than any there is.
    private static let maximumID = 255

    /// Returns the text of a post, which may be empty where the post has images.
    static func text(_ text: String) throws -> String {
        try length(text, atMost: maximumText, "text")
    }

    /// Checks that a post has something to show: an image, or a text that is not only white space.
    static func requireContent(text: String, imageCount: Int, field: String = "text") throws {
        guard imageCount == 0, text.allSatisfy(\.isWhitespace) else { return }
        let message = "a post has a text or \(images.lowerBound) to \(images.upperBound) images"
        throw APIError.invalid(field, message, code: "post_empty")
    }

    /// Of a comment, which may not.
    static func comment(_ text: String) throws -> String {
        guard text.contains(where: { !$0.isWhitespace }) else { throw APIError.missing("text") }
        return try length(text, atMost: maximumText, "text")
    }

    /// The uploads that a draft names, with their alternative texts; none for a post of text alone.
    static func images(of draft: PostDraft) throws -> [ImageDraft] {
        switch (draft.uploadIds, draft.images) {
        case (nil, nil): return []
        case (.some, .some):
            throw APIError.invalid("images", "\"images\" stands instead of \"uploadIds\", not beside it")
        case (let ids?, nil):
            try check(ids, "uploadIds") { "uploadIds[\($0)]" }
            return ids.map { ImageDraft(uploadId: $0) }
        case (nil, let drafts?):
            try check(drafts.map(\.uploadId), "images") { "images[\($0)].uploadId" }
            return try drafts.enumerated().map { index, draft in
                ImageDraft(uploadId: draft.uploadId, alt: try draft.alt.flatMap { try alt($0, of: index) })
            }
        }
    }

    /// The alternative texts that images have after a change: one entry for each image.
    static func alts(_ changes: [ImageChanges], to alts: [String?]) throws -> [String?] {
        guard changes.count == alts.count else {
            throw APIError.invalid("images", "\"images\" must have one entry for each of the \(alts.count) images")
        }
        return try changes.enumerated().map { index, change in
            switch change.alt {
            case .unchanged: alts[index]
            case .cleared: nil
            case .set(let text): try alt(text, of: index)
            }
        }
    }

    /// Nil for the empty one.
    private static func alt(_ text: String, of index: Int) throws -> String? {
        text.isEmpty ? nil : try length(text, atMost: maximumAlt, "images[\(index)].alt")
    }

    private static func check(_ ids: [String], _ field: String, _ element: (Int) -> String) throws {
        guard ids.count <= images.upperBound else {
            throw APIError.invalid(field, "a post has at most \(images.upperBound) images", code: "too_many")
        }
        var seen: Set<String> = []
        for (index, id) in ids.enumerated() {
            guard !id.isEmpty else { throw APIError.missing(element(index)) }
            _ = try length(id, atMost: maximumID, element(index))
            guard seen.insert(id).inserted else {
                throw APIError.invalid(element(index), "an upload is one image of one post", code: "duplicate_value")
            }
        }
    }

    private static func length(_ text: String, atMost maximum: Int, _ field: String) throws -> String {
        // Bytes are counted first, since they are free: a text of so few bytes has no more characters.
        guard text.utf8.count <= maximum || text.unicodeScalars.count <= maximum else {
            throw APIError.invalid(field, "\"\(field)\" may have \(maximum) characters", code: "too_long")
        }
        return text
    }
}

/// A draft that keeps the rules, with what is not to be said masked.
struct CheckedPost: Sendable {
    let text: String
    let hashtags: [String]
    let images: [ImageDraft]

    /// Checks a draft; a client's post needs an image, and one of another service a text or an image.
    init(_ draft: PostDraft, _ mask: TextMask, needsImage: Bool) throws {
        text = mask.masked(try PostRules.text(draft.text ?? ""))
        hashtags = HashtagText.all(in: text)
        images = try PostRules.images(of: draft).map {
            ImageDraft(uploadId: $0.uploadId, alt: $0.alt.map(mask.masked))
        }
        let field = draft.images != nil ? "images" : "uploadIds"
        guard !needsImage || !images.isEmpty else { throw APIError.missing(field) }
        try PostRules.requireContent(text: text, imageCount: images.count, field: field)
    }
}
