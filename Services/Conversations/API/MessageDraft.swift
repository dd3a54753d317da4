package import Wire

/// What one asks to have written.
package struct MessageDraft: Codable, Sendable {
    /// 1 to 65,536 bytes.
    package var data: String
    /// `text/plain` unless named.
    package var mime: String?
    /// `utf8` unless named, or `json`.
    package var encoding: String?
    /// An object of at most 5,120 bytes.
    package var meta: JSONValue?
    /// Chosen by the client: the same one twice from one sender is one message.
    package var clientMessageId: String?
    /// A message of the same conversation, which this one answers.
    package var replyTo: Message.ID?
    /// The notification's text, if not the message's own.
    package var pushMessage: String?
    /// The notification's title (Android).
    package var pushTitle: String?
    /// What the app gets along with the notification.
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

/// What happens to the number on the app's icon.
package enum Badge: Hashable, Sendable, Codable {
    /// On the wire `"increment"`.
    case increment
    case number(Int64)

    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        // A mismatch only means: it must be the word.
        if let number = try? container.decode(Int64.self) {
            self = .number(number)
        } else {
            guard try container.decode(String.self) == "increment" else {
                throw DecodingError.dataCorruptedError(
                    in: container,
                    debugDescription: "neither increment nor a number"
                )
            }
            self = .increment
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .increment: try container.encode("increment")
        case .number(let number): try container.encode(number)
        }
    }
}
