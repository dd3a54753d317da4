import ConversationsAPI
import Foundation
import Postgres
import ServiceHost
import Wire

/// The columns of a message, first in their row and read by index, because histories are read often.
struct MessageRow {
    let seq: Int64
    let change: Int64
    let senderID: String?
    let senderNumber: Int64?
    let clientMessageID: String?
    let data: String
    let mime: String
    let encoding: String
    let meta: String?
    let createdAt: Date
    let editedAt: Date?
    let deletedAt: Date?
    let replyTo: Int64?
    /// JSON: the userIds by emoji.
    let reactions: String?
    /// Compact JSON: the sender's current `meta`.
    let senderMeta: String?

    private static let plain = [
        "seq", "change", "sender_id", "sender_number", "client_message_id",
        "data", "mime", "encoding", "meta", "created_at", "edited_at", "deleted_at", "reply_to",
    ]

    /// Returns the columns of the table of messages or of its substitute; the last two are expressions, `reactions` and
    /// `sender_meta`.
    static func columns(_ table: String) -> String {
        let plain = plain.map { "\(table).\($0)" }.joined(separator: ", ")
        return """
            \(plain), CASE WHEN \(table).reaction_count > 0 THEN (
                SELECT json_object_agg(emoji, users)::text FROM (
                    SELECT emoji, json_agg(user_id ORDER BY reactions.change) AS users FROM reactions
                    WHERE reactions.conversation_id = \(table).conversation_id AND reactions.seq = \(table).seq
                    GROUP BY emoji
                ) AS made
            ) END AS reactions, \(senderMeta(of: "\(table).sender_number")) AS sender_meta
            """
    }

    /// Returns an expression for the `meta` of the sender with a user number.
    static func senderMeta(of number: String) -> String {
        "(SELECT users.meta FROM users WHERE users.user_number = \(number) AND users.meta IS NOT NULL)"
    }

    /// Returns the same columns of a subquery that has selected them.
    static func names(_ table: String) -> String {
        (plain + ["reactions", "sender_meta"]).map { "\(table).\($0)" }.joined(separator: ", ")
    }

    /// Nil for the row of an outer join without a message.
    init?(_ row: PostgresRow) throws {
        guard let seq: Int64 = try row.decodeIfPresent(at: 0) else { return nil }
        self.seq = seq
        change = try row.decode(at: 1)
        senderID = try row.decodeIfPresent(at: 2)
        senderNumber = try row.decodeIfPresent(at: 3)
        clientMessageID = try row.decodeIfPresent(at: 4)
        data = try row.decode(at: 5)
        mime = try row.decode(at: 6)
        encoding = try row.decode(at: 7)
        meta = try row.decodeIfPresent(at: 8)
        createdAt = try row.decode(at: 9)
        editedAt = try row.decodeIfPresent(at: 10)
        deletedAt = try row.decodeIfPresent(at: 11)
        replyTo = try row.decodeIfPresent(at: 12)
        reactions = try row.decodeIfPresent(at: 13)
        senderMeta = try row.decodeIfPresent(at: 14)
    }

    /// Returns the message; `readers` returns the users who have read up to a `seq`, or nil when they are not shown.
    func message(in conversation: Conversation.ID, readers: (Int64) -> [String]?) -> Message {
        var sender: Message.Sender?
        if let senderID, let senderNumber {
            let meta = senderMeta.map(JSONValue.init(compact:))
            sender = Message.Sender(id: senderNumber, serial: senderID, meta: meta)
        }
        return Message(
            chatId: conversation,
            seq: seq,
            change: change,
            data: data,
            mime: mime,
            encoding: encoding,
            meta: meta.map(JSONValue.init(compact:)),
            createdAt: createdAt,
            senderUser: sender,
            reads: readers(seq),
            clientMessageId: clientMessageID.flatMap { ClientMessageID.isOurs($0) ? nil : $0 },
            editedAt: editedAt,
            deletedAt: deletedAt,
            // Unreadable reactions are left out, so that their message is still delivered.
            reactions: reactions.flatMap { try? WireJSON.decoder().decode([String: [String]].self, from: $0.utf8) }
                ?? [:],
            replyTo: replyTo.map { Message.ID(conversation, seq: $0) }
        )
    }
}

/// The ids that the service generates for drafts without an id.
enum ClientMessageID {
    /// A client's id never contains a control character.
    private static let mark: Character = "\u{1}"

    /// Returns an id, which is the same for each repetition of an idempotent request.
    static func new() -> String {
        "\(mark)\(IdempotentRequest.current?.token.uuidString ?? Base64URL.random(bytes: 12))"
    }

    static func isOurs(_ id: String) -> Bool { id.first == mark }
}

extension JSONValue {
    /// Decodes compact JSON that this service stored.
    init(compact text: String) {
        // Stored JSON is readable; if it was damaged from outside, the message is still delivered, without its meta.
        self = (try? WireJSON.decoder().decode(JSONValue.self, from: Data(text.utf8))) ?? .null
    }
}
