import Foundation
import PhotosAPI
import Wire

enum PostRules {
    static let maximumText = 1_999
    static let images = 1...10
    static let maximumAlt = 1_500
    /// The maximum length of an upload's id in a request; real ids are shorter.
    private static let maximumID = 255

    /// Returns the text of a post, which may be empty if the post has images.
    static func text(_ text: String) throws -> String {
        try length(text, atMost: maximumText, "text")
    }

    static func requireContent(text: String, imageCount: Int, field: String = "text") throws {
        guard imageCount == 0, text.allSatisfy(\.isWhitespace) else { return }
        let message = "a post must have a text or \(images.lowerBound) to \(images.upperBound) images"
        throw APIError.invalid(field, message, code: "post_empty")
    }

    /// Returns the text of a comment, which must not be blank.
    static func comment(_ text: String) throws -> String {
        guard text.contains(where: { !$0.isWhitespace }) else { throw APIError.missing("text") }
        return try length(text, atMost: maximumText, "text")
    }

    static func images(of draft: PostDraft) throws -> [ImageDraft] {
        switch (draft.uploadIds, draft.images) {
        case (nil, nil): return []
        case (.some, .some):
            throw APIError.invalid("images", "\"images\" and \"uploadIds\" must not be sent together")
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

    private static func alt(_ text: String, of index: Int) throws -> String? {
        text.isEmpty ? nil : try length(text, atMost: maximumAlt, "images[\(index)].alt")
    }

    private static func check(_ ids: [String], _ field: String, _ element: (Int) -> String) throws {
        guard ids.count <= images.upperBound else {
            throw APIError.invalid(field, "a post can have at most \(images.upperBound) images", code: "too_many")
        }
        var seen: Set<String> = []
        for (index, id) in ids.enumerated() {
            guard !id.isEmpty else { throw APIError.missing(element(index)) }
            _ = try length(id, atMost: maximumID, element(index))
            guard seen.insert(id).inserted else {
                throw APIError.invalid(element(index), "an upload can be used only once", code: "duplicate_value")
            }
        }
    }

    private static func length(_ text: String, atMost maximum: Int, _ field: String) throws -> String {
        // Bytes are counted first because that is cheap: a text has at most as many characters as bytes.
        guard text.utf8.count <= maximum || text.unicodeScalars.count <= maximum else {
            throw APIError.invalid(field, "\"\(field)\" must have at most \(maximum) characters", code: "too_long")
        }
        return text
    }
}

struct CheckedPost: Sendable {
    let text: String
    let hashtags: [String]
    let images: [ImageDraft]

    /// Checks a draft.
    ///
    /// A post of a client needs an image. A post of another service needs a text or an image.
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
