import Crypto
import Foundation
import Wire

/// Marks the links, tags and mentions in a text: Bluesky only shows those that a record lists, by UTF-8 byte offsets.
enum BlueskyFacets {
    static func links(in text: String) -> [JSONValue] {
        text.matches(of: /https?:\/\/[^\s<>"]+/).map { match in
            // Punctuation at the end of a sentence is not part of the URL.
            let trimmed = match.output.reversed().drop { ".,;:!?)'".contains($0) }.count
            let range = match.range.lowerBound..<text.index(match.range.lowerBound, offsetBy: trimmed)
            return facet(range, in: text, "link", "uri", String(text[range]))
        }
    }

    static func tags(in text: String) -> [JSONValue] {
        text.matches(of: /(?:^|\s)(#[\p{L}\p{N}_]*\p{L}[\p{L}\p{N}_]*)/).filter { $0.output.1.count <= 65 }.map {
            facet(
                $0.output.1.startIndex..<$0.output.1.endIndex,
                in: text,
                "tag",
                "tag",
                String($0.output.1.dropFirst())
            )
        }
    }

    /// Returns the mentions whose handle belongs to an account.
    static func mentions(in text: String, did: (String) async throws -> String?) async throws -> [JSONValue] {
        var facets: [JSONValue] = []
        // The number of handles to look up per text is limited.
        for match in text.matches(of: /(?:^|\s)(@[A-Za-z0-9][A-Za-z0-9.-]*\.[A-Za-z]{2,})/).prefix(20) {
            let name = match.output.1
            guard let did = try await did(name.dropFirst().lowercased()) else { continue }
            facets.append(facet(name.startIndex..<name.endIndex, in: text, "mention", "did", did))
        }
        return facets
    }

    /// Returns a record key derived from an address; the same address has the same key.
    static func recordKey(of uri: String) -> String {
        recordKey(SHA256.hash(data: Data(uri.utf8)).prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }

    /// Returns 63 bits in the protocol's sortable base 32.
    static func recordKey(_ value: UInt64) -> String {
        let digits = Array("234567abcdefghijklmnopqrstuvwxyz")
        return String((0..<13).map { digits[Int(value & 0x7FFF_FFFF_FFFF_FFFF) >> (60 - 5 * $0) & 31] })
    }

    private static func facet(
        _ range: Range<String.Index>,
        in text: String,
        _ kind: String,
        _ name: String,
        _ value: String
    ) -> JSONValue {
        let start = text.utf8.distance(from: text.startIndex, to: range.lowerBound)
        let end = text.utf8.distance(from: text.startIndex, to: range.upperBound)
        return .object([
            "index": .object(["byteStart": .integer(Int64(start)), "byteEnd": .integer(Int64(end))]),
            "features": .array([
                .object(["$type": .string("app.bsky.richtext.facet#\(kind)"), name: .string(value)])
            ]),
        ])
    }
}
