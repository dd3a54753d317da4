import ConversationsAPI
import Foundation
import Postgres
import ServiceHost
import Wire

/// The columns of a message, first in their row and read by their place, since histories are read often.
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
    /// JSON: the users by emoji.
    let reactions: String?
    /// Compact JSON: what the sender says about himself now.
    let senderMeta: String?

    private static let plain = [
        "seq", "change", "sender_id", "sender_number", "client_message_id",
        "data", "mime", "encoding", "meta", "created_at", "edited_at", "deleted_at", "reply_to",
    ]

    /// From the table of messages, or what stands for it; the last two are expressions, `reactions` and `sender_meta`.
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

    /// What a sender says about himself, by his number.
    static func senderMeta(of number: String) -> String {
        "(SELECT users.meta FROM users WHERE users.user_number = \(number) AND users.meta IS NOT NULL)"
    }

    /// The same of a subquery that has them as columns.
    static func names(_ table: String) -> String {
        (plain + ["reactions", "sender_meta"]).map { "\(table).\($0)" }.joined(separator: ", ")
    }

    /// Nil for the row of an outer join that found none.
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

    /// The message; `readers` says who has read up to a `seq`, or nil where that is not told.
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

/// The ids that we give to drafts which came without one.
enum ClientMessageID {
    /// Clients' own have no control characters.
    private static let mark: Character = "\u{1}"

    /// Of a request that may come again, the same each time.
    static func new() -> String {
        "\(mark)\(IdempotentRequest.current?.token.uuidString ?? Base64URL.random(bytes: 12))"
    }

    static func isOurs(_ id: String) -> Bool { id.first == mark }
}

extension JSONValue {
    /// From what was stored as compact JSON of ours.
    init(compact text: String) {
        // What we wrote we can read; were it broken by other hands, the message is worth more than its meta.
        self = (try? WireJSON.decoder().decode(JSONValue.self, from: Data(text.utf8))) ?? .null
    }
}
