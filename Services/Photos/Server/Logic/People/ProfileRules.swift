import Foundation
import Wire

/// What somebody may write about himself.
enum ProfileRules {
    /// Characters of a bio; none at all is one too.
    static let maximumBio = 500

    /// - Throws: a 400 that names `fullName`.
    static func fullName(_ text: String) throws -> String {
        guard !text.isEmpty else { throw APIError.missing("fullName") }
        let scalars = text.unicodeScalars
        guard scalars.count <= People.maximumName else {
            let message = "a full name has 1 to \(People.maximumName) characters"
            throw APIError.invalid("fullName", message, code: "full_name_length")
        }
        guard !scalars.allSatisfy(\.properties.isWhitespace), !scalars.contains(where: \.isControl) else {
            throw APIError.invalid(
                "fullName",
                "a full name has a letter and no control character",
                code: "full_name_characters"
            )
        }
        return text
    }

    /// - Throws: a 400 that names `bio`.
    static func bio(_ text: String) throws -> String {
        guard text.unicodeScalars.count <= maximumBio else {
            throw APIError.invalid("bio", "a bio has at most \(maximumBio) characters", code: "bio_length")
        }
        guard !text.unicodeScalars.contains(where: { $0.isControl && $0 != "\n" }) else {
            let message = "a bio has no control character but line feeds"
            throw APIError.invalid("bio", message, code: "bio_characters")
        }
        return text
    }
}
