import Foundation
import Wire

/// The name of a broadcaster or a community: two are the same if their case folding is.
struct FoldedName: Sendable {
    static let length = 1...100

    /// As it is written.
    let text: String
    /// What it is found by.
    let folded: String

    /// - Throws: a 400 that names `field`.
    init(_ text: String, field: String) throws {
        let isShort = Self.length.contains(text.unicodeScalars.count)
        let folded = isShort ? NameFolding.fold(text) : ""
        guard isShort, Self.length.contains(folded.unicodeScalars.count),
            !text.unicodeScalars.contains(where: \.isControl)
        else {
            let message = "a name has 1 to \(Self.length.upperBound) characters, none of them a control character"
            throw APIError.invalid(field, message, code: "malformed_name")
        }
        self.text = text
        self.folded = folded
    }

    /// Communities that somebody does not want to hear of: each once, in order.
    ///
    /// - Throws: a 400 that names the list, or the name in it.
    static func communities(_ names: [String]) throws -> [String] {
        let field = "disabledCommunities"
        guard names.count <= maximumCommunities else {
            throw APIError.invalid(field, "may have \(maximumCommunities) names", code: "too_many")
        }
        let folded = try names.enumerated().map { try FoldedName($1, field: "\(field)[\($0)]").folded }
        return Set(folded).sorted()
    }

    /// How many communities one list may have.
    private static let maximumCommunities = 500
}
