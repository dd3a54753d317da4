import Foundation
import Wire

/// A username, with which an account signs in and is found.
struct Username: Sendable {
    static let length = 1...64

    /// The owner's spelling.
    let text: String
    /// The form that comparisons use.
    let folded: String

    /// - Throws: a 400 for the field `username`.
    init(_ text: String) throws {
        guard !text.isEmpty else { throw APIError.missing("username") }
        guard Self.length.contains(text.unicodeScalars.count) else {
            throw APIError.invalid("username", "a username must have 1 to 64 characters", code: "username_length")
        }
        let folded = NameFolding.fold(text)
        // The folded form is checked too: a full-width ＠ folds to the plain @, which is reserved for e-mail addresses.
        guard Self.isAllowed(text), Self.isAllowed(folded) else {
            throw APIError.invalid(
                "username",
                "a username must not contain @, comma, slash or control characters, or start or end with a space",
                code: "username_characters"
            )
        }
        self.text = text
        self.folded = folded
    }

    private static func isAllowed(_ text: String) -> Bool {
        let scalars = text.unicodeScalars
        guard let first = scalars.first, let last = scalars.last else { return false }
        return !first.properties.isWhitespace && !last.properties.isWhitespace
            && !scalars.contains { "@,/".unicodeScalars.contains($0) || $0.isControl }
    }
}

/// An e-mail address with valid syntax.
struct EmailAddress: Sendable {
    static let maximumLength = 254

    let text: String

    /// - Throws: a 400 for the field `email`.
    init(_ text: String) throws {
        guard !text.isEmpty else { throw APIError.missing("email") }
        guard text.unicodeScalars.count <= Self.maximumLength else {
            throw APIError.invalid("email", "an e-mail address must have at most 254 characters", code: "email_length")
        }
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty, parts[0].utf8.count <= 64,
            parts[1].split(separator: ".", omittingEmptySubsequences: false).allSatisfy({ !$0.isEmpty }),
            !text.unicodeScalars.contains(where: { $0.properties.isWhitespace || $0.isControl || $0 == "," })
        else { throw APIError.invalid("email", "the e-mail address is malformed", code: "malformed_email") }
        self.text = text
    }
}

/// The display name that other users see.
struct FullName: Sendable {
    static let length = 1...100

    let text: String

    /// - Throws: a 400 for the field `fullName`.
    init(_ text: String) throws {
        guard !text.isEmpty else { throw APIError.missing("fullName") }
        guard Self.length.contains(text.unicodeScalars.count) else {
            throw APIError.invalid("fullName", "a full name must have 1 to 100 characters", code: "full_name_length")
        }
        let scalars = text.unicodeScalars
        guard !scalars.allSatisfy(\.properties.isWhitespace), !scalars.contains(where: \.isControl) else {
            throw APIError.invalid(
                "fullName",
                "a full name must contain a visible character and no control characters",
                code: "full_name_characters"
            )
        }
        self.text = text
    }
}

/// The client's own id of the device that it runs on.
struct DeviceID: Sendable {
    static let length = 1...255

    let text: String

    /// - Throws: a 400 for the field `deviceId`.
    init(_ text: String) throws {
        guard !text.isEmpty else { throw APIError.missing("deviceId") }
        guard Self.length.contains(text.unicodeScalars.count), !text.unicodeScalars.contains(where: \.isControl) else {
            throw APIError.invalid(
                "deviceId",
                "a device id must have 1 to 255 characters and no control characters",
                code: "malformed_device_id"
            )
        }
        self.text = text
    }
}
