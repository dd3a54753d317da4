import Foundation
import NIOCore
import SocialAPI

/// The check of a post against a network's limits before anything is sent.
extension PostLimits {
    /// - Throws: `NetworkError` of class `invalid`, which names the exceeded limit.
    func check(_ post: NetworkPost) throws {
        if let text { try check(post.text, text, "text") }
        if needsMedia == true, post.photos.isEmpty, post.video == nil {
            throw NetworkError(.invalid, "a post needs a photo or a video", code: "media_missing")
        }
        if let photos, post.photos.count > photos {
            throw NetworkError(.invalid, "a post may have at most \(photos) photos", code: "too_many_photos")
        }
        for photo in post.photos { try check(photo, photoBytes, photoTypes, "photo") }
        if let video = post.video { try check(video, videoBytes, videoTypes, "video") }
    }

    func check(_ reply: NetworkReply) throws {
        guard !reply.text.isEmpty else { throw NetworkError(.invalid, "a reply has no text", code: "text_missing") }
        if let limit = self.reply { try check(reply.text, limit, "reply") }
    }

    private func check(_ text: String, _ limit: Int, _ what: String) throws {
        let unit = textUnit ?? .characters
        guard unit.length(of: text) > limit else { return }
        throw NetworkError(.invalid, "the \(what) has more than \(limit) \(unit.plural)", code: "\(what)_too_long")
    }

    private func check(_ media: OutgoingMedia, _ bytes: Int?, _ types: [String]?, _ what: String) throws {
        if let types, !types.contains(media.type) {
            throw NetworkError(.invalid, "a \(what) of type \(media.type) is not accepted", code: "\(what)_type")
        }
        if let bytes, media.bytes.readableBytes > bytes {
            throw NetworkError(.invalid, "a \(what) may have at most \(bytes) bytes", code: "\(what)_too_large")
        }
    }
}

extension PostLimits.TextUnit {
    func length(of text: String) -> Int {
        switch self {
        case .characters: text.unicodeScalars.count
        case .graphemes: text.count
        case .bytes: text.utf8.count
        case .weighted: WeightedLength.of(text)
        }
    }

    fileprivate var plural: String {
        switch self {
        case .characters, .weighted: "characters"
        case .graphemes: "graphemes"
        case .bytes: "bytes"
        }
    }
}

/// Twitter's length of a text, by version 3 of twitter-text's configuration.
enum WeightedLength {
    /// Returns the length: 23 for a URL, 2 for any emoji, 1 for a scalar of the listed ranges, 2 for any other scalar.
    static func of(_ text: String) -> Int {
        var length = 0
        for word in text.split(separator: /\s/, omittingEmptySubsequences: false) {
            let url = word.firstRange(of: /https?:\/\/[^\s\/]+\.[^\s]+/)
            let counted = url.map { word[..<$0.lowerBound] } ?? word
            length += counted.reduce(0) { $0 + weight(of: $1) } + (url == nil ? 0 : 23)
            length += 1
        }
        // There is one separator fewer than words.
        return length - 1
    }

    private static func weight(of character: Character) -> Int {
        guard let first = character.unicodeScalars.first else { return 0 }
        let isEmoji =
            first.properties.isEmojiPresentation
            || character.unicodeScalars.contains { $0.value == 0xFE0F || $0.value == 0x20E3 }
        return isEmoji
            ? 2
            : String(character).precomposedStringWithCanonicalMapping.unicodeScalars.reduce(0) {
                $0 + (isLight($1.value) ? 1 : 2)
            }
    }

    private static func isLight(_ scalar: UInt32) -> Bool {
        switch scalar {
        case 0...4_351, 8_192...8_205, 8_208...8_223, 8_242...8_247: true
        default: false
        }
    }
}
