import ConversationsAPI
import Foundation
import Wire

/// What is said beside a file, as texts: the fields of a form, or the parameters of a query.
///
/// They are those of a message in JSON, by the same rules: `meta` and `pushPayload` are JSON, `badge` and `replyTo` may be
/// numbers. One left empty, as forms do, is not there.
struct UploadFields {
    private var values: [String: JSONValue] = [:]

    /// What the parts of a form besides the file may have together, in bytes.
    static let maximumBytes = 131_072

    /// - Throws: `invalid`, naming the field.
    mutating func set(_ name: String, _ text: String) throws {
        try APIError.check(text, of: name)
        guard !text.isEmpty else { return }
        guard values.updateValue(try Self.value(name, text), forKey: name) == nil else {
            throw APIError.invalid(name, "\"\(name)\" is there twice", code: "duplicate_field")
        }
    }

    /// The name that the fields give the file.
    var fileName: String? {
        if case .string(let name) = values["name"] { name } else { nil }
    }

    /// The message that the file is to be.
    func draft() throws -> MessageDraft {
        var fields = values
        // What is sent is the file.
        fields["data"] = .string("")
        if let encoding = fields.removeValue(forKey: "encoding"),
            ![.string("url"), .string("binary")].contains(encoding)
        {
            throw APIError.invalid("encoding", "a file is sent as it is")
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
