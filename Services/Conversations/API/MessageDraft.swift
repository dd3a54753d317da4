package import Wire

/// The body of a request that sends a message.
package struct MessageDraft: Codable, Sendable {
    /// From 1 to 65,536 bytes.
    package var data: String
    /// Default: `text/plain`.
    package var mime: String?
    /// `utf8` (the default), `json`, or `base64` for a file.
    package var encoding: String?
    /// An object of at most 5,120 bytes.
    package var meta: JSONValue?
    /// An id chosen by the client; two requests of one sender with the same id create one message.
    package var clientMessageId: String?
    /// The message in the same conversation that this message replies to.
    package var replyTo: Message.ID?
    /// The notification's text; the message's text by default.
    package var pushMessage: String?
    /// The notification's title (Android).
    package var pushTitle: String?
    /// Data that the app receives with the notification.
    package var pushPayload: JSONValue?
    package var badge: Badge?

    package init(
        data: String,
        mime: String? = nil,
        encoding: String? = nil,
        meta: JSONValue? = nil,
        clientMessageId: String? = nil,
        replyTo: Message.ID? = nil,
        pushMessage: String? = nil,
        pushTitle: String? = nil,
        pushPayload: JSONValue? = nil,
        badge: Badge? = nil
    ) {
        self.data = data
        self.mime = mime
        self.encoding = encoding
        self.meta = meta
        self.clientMessageId = clientMessageId
        self.replyTo = replyTo
        self.pushMessage = pushMessage
        self.pushTitle = pushTitle
        self.pushPayload = pushPayload
        self.badge = badge
    }
}

/// The change to the number on the app's icon.
package enum Badge: Hashable, Sendable, Codable {
    /// Encoded as `"increment"`.
    case increment
    case number(Int64)

    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        // A value of the wrong type is reported with both types that are allowed.
        if let number = try? container.decode(Int64.self) {
            self = .number(number)
        } else if let word = try? container.decode(String.self), word == "increment" {
            self = .increment
        } else {
            throw Self.invalid
        }
    }

    package static let invalid = APIError.invalid(
        "badge",
        "\"badge\" must be \"increment\" or a whole number from 0 to 1,000,000"
    )

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .increment: try container.encode("increment")
        case .number(let number): try container.encode(number)
        }
    }
}
