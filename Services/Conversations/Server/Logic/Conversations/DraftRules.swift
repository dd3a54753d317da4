import ConversationsAPI
import Foundation
import ServiceHost
import Wire

/// The rules for labels, `meta`, white lists and messages.
enum DraftRules {
    static let maximumText = 65_536
    static let maximumMeta = 5_120
    /// The maximum number of userIds in one request, which keeps auth's check short.
    static let maximumNamed = 1_000

    static func label(_ label: String) throws -> String {
        guard !label.isEmpty else { throw APIError.missing("label") }
        return try length(label, atMost: 255, "label")
    }

    /// Returns an empty string for an absent label.
    static func optionalLabel(_ label: String?) throws -> String {
        guard let label, !label.isEmpty else { return "" }
        return try self.label(label)
    }

    /// Returns the compact JSON of an object; nil for null.
    static func meta(_ meta: JSONValue?, field: String = "meta") throws -> String? {
        switch meta {
        case nil, .null: return nil
        case .object:
            let compact = try meta?.compact() ?? Data()
            guard compact.count <= maximumMeta else {
                throw APIError.fieldTooLong(field, limit: maximumMeta)
            }
            return String(decoding: compact, as: UTF8.self)
        default:
            throw APIError.invalid(field, "the field \"\(field)\" must be an object", code: "invalid_type")
        }
    }

    /// Accepts the ids of Roost's own accounts and of a customer's users.
    static func userID(_ user: String, field: String) throws -> String {
        guard !user.isEmpty else { throw APIError.missing(field) }
        return try length(user, atMost: 255, field)
    }

    /// Checks that a system message can carry the list.
    ///
    /// Once a name is removed, PostgreSQL writes the JSON with a space behind each comma and colon, so these spaces
    /// count.
    static func whiteListSize(_ users: [String]?) throws {
        let spaces = (users?.count ?? 0) + 3
        guard try SystemEvent.whiteListUpdated(users).data().utf8.count + spaces <= maximumText else {
            throw APIError(
                .tooLarge,
                "white_list_too_long",
                "\"whiteList\" may have at most \(maximumText) bytes as JSON",
                field: "whiteList"
            )
        }
    }

    static func text(_ data: String) throws -> String {
        guard !data.isEmpty else { throw APIError.missing("data") }
        guard data.utf8.count <= maximumText else {
            throw APIError(.tooLarge, "text_too_long", "\"data\" may have at most \(maximumText) bytes", field: "data")
        }
        return data
    }

    static func mime(_ mime: String?) throws -> String {
        guard let mime else { return "text/plain" }
        let isPlain = mime.utf8.allSatisfy { (0x20...0x7E).contains($0) }
        guard isPlain, (3...255).contains(mime.utf8.count), mime.dropFirst().dropLast().contains("/") else {
            throw APIError.invalid("mime", "\"mime\" must be a media type such as text/plain")
        }
        guard mime.prefix(while: { $0 != ";" }).trimmingCharacters(in: .whitespaces).lowercased() != SystemEvent.mime
        else { throw APIError.invalid("mime", "\"mime\" must not be the media type of system messages") }
        return mime
    }

    /// Accepts the encodings of text; `Files.send` handles `base64` before.
    static func encoding(_ encoding: String?) throws -> String {
        guard let encoding else { return "utf8" }
        guard ["utf8", "json"].contains(encoding) else {
            throw APIError.invalid("encoding", "\"encoding\" must be utf8, json or base64")
        }
        return encoding
    }

    static func clientMessageID(_ id: String?) throws -> String {
        guard let id else { return ClientMessageID.new() }
        IdempotentRequest.markRepeatable()
        guard !id.isEmpty else { throw APIError.missing("clientMessageId") }
        guard !id.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
            throw APIError.invalid("clientMessageId", "\"clientMessageId\" may not contain control characters")
        }
        return try length(id, atMost: 255, "clientMessageId")
    }

    /// Accepts one emoji as defined by Unicode UTS #51: a symbol, a flag, a keycap, or a joined sequence.
    static func emoji(_ text: String) throws -> String {
        // The length is checked first, because normalizing a long text may take quadratic time.
        let text = text.utf8.count <= 256 ? text.precomposedStringWithCanonicalMapping : ""
        guard text.utf8.count <= 64, text.count == 1, let character = text.first, character.isOneEmoji else {
            throw APIError.invalid("emoji", "\"emoji\" must be one emoji")
        }
        return text
    }

    /// Returns the notification's fields as compact JSON; nil when the draft has none.
    static func push(_ draft: MessageDraft) throws -> String? {
        var fields: [String: JSONValue] = [:]
        if let text = draft.pushMessage { fields["message"] = .string(try length(text, atMost: 4_096, "pushMessage")) }
        if let title = draft.pushTitle { fields["title"] = .string(try length(title, atMost: 255, "pushTitle")) }
        if try meta(draft.pushPayload, field: "pushPayload") != nil { fields["payload"] = draft.pushPayload }
        if case .object(let payload) = draft.pushPayload, payload[MessageNotification.reservedKey] != nil {
            throw APIError.invalid("pushPayload", "\"pushPayload\" must not contain \"aps\", which Apple reserves")
        }
        switch draft.badge {
        case .number(let number):
            guard (0...1_000_000).contains(number) else { throw Badge.invalid }
            fields["badge"] = .integer(number)
        case .increment: fields["badge"] = .string("increment")
        case nil: break
        }
        guard !fields.isEmpty else { return nil }
        return String(decoding: try JSONValue.object(fields).compact(), as: UTF8.self)
    }

    private static func length(_ text: String, atMost maximum: Int, _ field: String) throws -> String {
        // The bytes are counted first, at no cost: a text has no more characters than bytes.
        guard text.utf8.count <= maximum || text.unicodeScalars.count <= maximum else {
            throw APIError.invalid(field, "\"\(field)\" may have at most \(maximum) characters", code: "too_long")
        }
        return text
    }
}

extension JSONLimits {
    private static let fields = ["meta": DraftRules.maximumMeta, "pushPayload": DraftRules.maximumMeta]

    /// The limits of a request with `meta`, whose size is checked before it is decoded.
    static let withMeta = body.limiting(fields)
    /// The limits of a message's text, a white list or a list of members, beside `meta`.
    static let largeWithMeta = large.limiting(fields)
    /// The limits of a message with a file in base64: every slash may be escaped, and there may be line breaks.
    static let withFile = JSONLimits(bytes: 8_388_608, values: 10_000, depth: 16).limiting(fields)
}

extension Character {
    fileprivate var isOneEmoji: Bool {
        let scalars = unicodeScalars
        guard let first = scalars.first, first.properties.isEmoji else { return false }
        // Two regional indicators form a flag; a single one is not an emoji.
        if first.isRegionalIndicator { return scalars.count == 2 && scalars.allSatisfy(\.isRegionalIndicator) }
        // Digits, # and * are emoji only on a keycap.
        if first.isASCII { return scalars.count > 1 && scalars.last == "\u{20E3}" && scalars.dropFirst().allMayFollow }
        return scalars.dropFirst().allMayFollow
    }
}

extension Collection<Unicode.Scalar> {
    /// Whether all scalars may follow the first scalar of an emoji: other emoji, joiners, variation selectors, keycaps,
    /// tags.
    fileprivate var allMayFollow: Bool {
        allSatisfy { scalar in
            switch scalar.value {
            case 0x200D, 0xFE0E, 0xFE0F, 0x20E3, 0xE0020...0xE007F: true
            default: scalar.properties.isEmoji && !scalar.isASCII
            }
        }
    }
}

extension Unicode.Scalar {
    fileprivate var isRegionalIndicator: Bool { (0x1F1E6...0x1F1FF).contains(value) }
}
