import ConversationsAPI
import Foundation
import Wire

/// The fields of a message with a file: the text fields of a form, or the parameters of a query.
///
/// They follow the rules of a message in JSON: `meta` and `pushPayload` are JSON, `badge` and `replyTo` may be numbers.
/// An empty field counts as absent, because forms send empty fields.
struct UploadFields {
    private var values: [String: JSONValue] = [:]

    /// The maximum total size of a form's fields other than the file, in bytes.
    static let maximumBytes = 131_072

    /// - Throws: `invalid` with the field's name.
    mutating func set(_ name: String, _ text: String) throws {
        try APIError.check(text, of: name)
        guard !text.isEmpty else { return }
        guard values.updateValue(try Self.value(name, text), forKey: name) == nil else {
            throw APIError.invalid(name, "\"\(name)\" must not occur more than once", code: "duplicate_field")
        }
    }

    /// The file's name from the fields.
    var fileName: String? {
        if case .string(let name) = values["name"] { name } else { nil }
    }

    /// Returns the draft of the message that carries the file.
    func draft() throws -> MessageDraft {
        var fields = values
        // The content of the message is the file.
        fields["data"] = .string("")
        if let encoding = fields.removeValue(forKey: "encoding"),
            ![.string("url"), .string("binary")].contains(encoding)
        {
            throw APIError.invalid("encoding", "\"encoding\" of a file must be url or binary")
        }
        let draft = try WireJSON.decode(MessageDraft.self, from: JSONValue.object(fields).compact(), limits: .withMeta)
        _ = try DraftRules.mime(draft.mime)
        return draft
    }

    private static func value(_ name: String, _ text: String) throws -> JSONValue {
        switch name {
        case "meta", "pushPayload":
            do {
                return try WireJSON.decode(JSONValue.self, from: text.utf8, limits: .free)
            } catch let error as APIError {
                throw APIError(error.kind, error.code, "\"\(name)\" must be JSON", field: name)
            }
        case "badge", "replyTo": return Int64(text).map(JSONValue.integer) ?? .string(text)
        default: return .string(text)
        }
    }
}
