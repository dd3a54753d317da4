import Foundation
import Wire

/// The name that an account signs in by and is found by.
struct Username: Sendable {
    static let length = 1...64

    /// As its owner writes it.
    let text: String
    /// What two names are compared by.
    let folded: String

    /// - Throws: a 400 that names `username`.
    init(_ text: String) throws {
        guard !text.isEmpty else { throw APIError.missing("username") }
        guard Self.length.contains(text.unicodeScalars.count) else {
            throw APIError.invalid("username", "a username has 1 to 64 characters", code: "username_length")
        }
        let folded = NameFolding.fold(text)
        // The folded form too: a full-width ＠ folds to the plain one, which only an e-mail address may have.
        guard Self.isAllowed(text), Self.isAllowed(folded) else {
            throw APIError.invalid(
                "username",
                "a username has no @, comma, slash, control character or outer space",
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

/// An e-mail address, as far as its spelling can tell.
struct EmailAddress: Sendable {
    static let maximumLength = 254

    let text: String

    /// - Throws: a 400 that names `email`.
    init(_ text: String) throws {
        guard !text.isEmpty else { throw APIError.missing("email") }
        guard text.unicodeScalars.count <= Self.maximumLength else {
            throw APIError.invalid("email", "an e-mail address has at most 254 characters", code: "email_length")
        }
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty, parts[0].utf8.count <= 64,
            parts[1].split(separator: ".", omittingEmptySubsequences: false).allSatisfy({ !$0.isEmpty }),
            !text.unicodeScalars.contains(where: { $0.properties.isWhitespace || $0.isControl || $0 == "," })
        else { throw APIError.invalid("email", "this is no e-mail address", code: "malformed_email") }
        self.text = text
    }
}

/// The name that others see.
struct FullName: Sendable {
    static let length = 1...100

    let text: String

    /// - Throws: a 400 that names `fullName`.
    init(_ text: String) throws {
        guard !text.isEmpty else { throw APIError.missing("fullName") }
        guard Self.length.contains(text.unicodeScalars.count) else {
            throw APIError.invalid("fullName", "a full name has 1 to 100 characters", code: "full_name_length")
        }
        let scalars = text.unicodeScalars
        guard !scalars.allSatisfy(\.properties.isWhitespace), !scalars.contains(where: \.isControl) else {
            throw APIError.invalid(
                "fullName",
                "a full name has a letter and no control character",
                code: "full_name_characters"
            )
        }
        self.text = text
    }
}

/// The client's own id of the device it runs on.
struct DeviceID: Sendable {
    static let length = 1...255

    let text: String

    /// - Throws: a 400 that names `deviceId`.
    init(_ text: String) throws {
        guard !text.isEmpty else { throw APIError.missing("deviceId") }
        guard Self.length.contains(text.unicodeScalars.count), !text.unicodeScalars.contains(where: \.isControl) else {
            throw APIError.invalid(
                "deviceId",
                "a device id has 1 to 255 characters, none of them a control character",
                code: "malformed_device_id"
            )
        }
        self.text = text
    }
}
