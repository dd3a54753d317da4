import Foundation
import Wire

enum ProfileRules {
    static let maximumBio = 500

    static func fullName(_ text: String) throws -> String {
        guard !text.isEmpty else { throw APIError.missing("fullName") }
        let scalars = text.unicodeScalars
        guard scalars.count <= People.maximumName else {
            let message = "\"fullName\" must have 1 to \(People.maximumName) characters"
            throw APIError.invalid("fullName", message, code: "full_name_length")
        }
        guard !scalars.allSatisfy(\.properties.isWhitespace), !scalars.contains(where: \.isControl) else {
            throw APIError.invalid(
                "fullName",
                "\"fullName\" must not be blank or contain control characters",
                code: "full_name_characters"
            )
        }
        return text
    }

    static func bio(_ text: String) throws -> String {
        guard text.unicodeScalars.count <= maximumBio else {
            throw APIError.invalid("bio", "\"bio\" must have at most \(maximumBio) characters", code: "bio_length")
        }
        guard !text.unicodeScalars.contains(where: { $0.isControl && $0 != "\n" }) else {
            let message = "\"bio\" must not contain control characters other than line feeds"
            throw APIError.invalid("bio", message, code: "bio_characters")
        }
        return text
    }
}
