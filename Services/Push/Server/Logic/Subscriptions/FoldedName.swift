import Foundation
import Wire

/// The name of a broadcaster or a community, compared by case folding.
struct FoldedName: Sendable {
    static let length = 1...100

    let text: String
    let folded: String

    /// - Throws: a 400 error that names `field`.
    init(_ text: String, field: String) throws {
        let isShort = Self.length.contains(text.unicodeScalars.count)
        let folded = isShort ? NameFolding.fold(text) : ""
        guard isShort, Self.length.contains(folded.unicodeScalars.count),
            !text.unicodeScalars.contains(where: \.isControl)
        else {
            let message = "must have 1 to \(Self.length.upperBound) characters and no control characters"
            throw APIError.invalid(field, message, code: "malformed_name")
        }
        self.text = text
        self.folded = folded
    }

    /// Returns the distinct case-folded names in order.
    ///
    /// - Throws: a 400 error that names the list, or the name in it.
    static func communities(_ names: [String]) throws -> [String] {
        let field = "disabledCommunities"
        guard names.count <= maximumCommunities else {
            throw APIError.invalid(field, "must have at most \(maximumCommunities) names", code: "too_many")
        }
        let folded = try names.enumerated().map { try FoldedName($1, field: "\(field)[\($0)]").folded }
        return Set(folded).sorted()
    }

    private static let maximumCommunities = 500
}
