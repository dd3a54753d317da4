import Wire

/// A text from push's message catalogues; push renders it in the language of each device.
package struct NotificationText: Codable, Hashable, Sendable {
    package enum Argument: Hashable, Sendable {
        case text(String)
        case number(Int64)
        /// Another text of the catalogues, by its key.
        case message(String)
    }

    /// The key of the message, for example `like.one`; docs/languages.md lists all keys.
    package var key: String
    package var arguments: [String: Argument]

    package init(_ key: String, _ arguments: [String: Argument] = [:]) {
        self.key = key
        self.arguments = arguments
    }
}

/// The JSON form: a string, a whole number, or `{"message": key}`.
extension NotificationText.Argument: Codable {
    private struct Reference: Codable {
        var message: String
    }

    package init(from decoder: any Decoder) throws {
        switch try JSONValue(from: decoder) {
        case .string(let text): self = .text(text)
        case .integer(let number): self = .number(number)
        case .object(let fields):
            guard let key = fields["message"]?.text else { throw Self.malformed(decoder) }
            self = .message(key)
        default: throw Self.malformed(decoder)
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .text(let text): try container.encode(text)
        case .number(let number): try container.encode(number)
        case .message(let key): try container.encode(Reference(message: key))
        }
    }

    private static func malformed(_ decoder: any Decoder) -> DecodingError {
        DecodingError.dataCorrupted(
            DecodingError.Context(
                codingPath: decoder.codingPath,
                debugDescription: "must be a string, a whole number or {\"message\": key}"
            )
        )
    }
}
