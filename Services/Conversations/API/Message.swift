package import Foundation
package import Wire

/// What somebody said in a conversation, or what the suite says about it.
package struct Message: Hashable, Sendable, PageItem {
    package typealias ID = Wire.ID<Message, Int64>

    package static let pluralName = "messages"

    package var id: ID
    /// 1, 2, 3 … in its conversation, without a gap: the order that everybody sees.
    package var seq: Int64
    /// The number of its latest change in the conversation.
    package var change: Int64
    package var chatId: Conversation.ID
    /// The text; of a system message JSON.
    package var data: String
    package var mime: String
    package var encoding: String
    /// Where `encoding` is `url`: what the file is called, and its size; `data` is a link to it.
    package var file: File?
    package var meta: JSONValue?
    /// Never goes back along `seq`; to the millisecond.
    package var createdAt: Date
    /// Null: a system message.
    package var senderUser: Sender?
    /// Who has read it; left out where the conversation has more than 100 members.
    package var reads: [String]?
    package var clientMessageId: String?
    package var editedAt: Date?
    /// What was said is gone for everybody; the message keeps its place.
    package var deletedAt: Date?
    /// By emoji, in the order they were made.
    package var reactions: [String: [String]]
    /// The message of the same conversation that this one answers.
    package var replyTo: ID?

    /// A file that was sent.
    package struct File: Hashable, Sendable {
        package var name: String?
        /// In bytes.
        package var size: Int64

        package init(name: String?, size: Int64) {
            self.name = name
            self.size = size
        }
    }

    /// Who sent a message.
    package struct Sender: Hashable, Sendable {
        /// A number of the user's own, as diuit's clients expect of an `id`.
        package var id: Int64
        /// The userId.
        package var serial: String
        package var meta: JSONValue?

        package init(id: Int64, serial: String, meta: JSONValue? = nil) {
            self.id = id
            self.serial = serial
            self.meta = meta
        }
    }

    package init(
        chatId: Conversation.ID,
        seq: Int64,
        change: Int64,
        data: String,
        mime: String,
        encoding: String,
        meta: JSONValue?,
        createdAt: Date,
        senderUser: Sender?,
        reads: [String]?,
        clientMessageId: String?,
        editedAt: Date? = nil,
        deletedAt: Date? = nil,
        reactions: [String: [String]] = [:],
        replyTo: ID? = nil
    ) {
        id = ID(chatId, seq: seq)
        self.seq = seq
        self.change = change
        self.chatId = chatId
        self.data = data
        self.mime = mime
        self.encoding = encoding
        self.meta = meta
        self.createdAt = createdAt
        self.senderUser = senderUser
        self.reads = reads
        self.clientMessageId = clientMessageId
        self.editedAt = editedAt
        self.deletedAt = deletedAt
        self.reactions = reactions
        self.replyTo = replyTo
    }
}

extension Message: Codable {
    /// Written out for the nulls that clients may rely on.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(id, forKey: .id)
        try container.encode(seq, forKey: .seq)
        try container.encode(change, forKey: .change)
        try container.encode(chatId, forKey: .chatId)
        try container.encode(data, forKey: .data)
        try container.encode(mime, forKey: .mime)
        try container.encode(encoding, forKey: .encoding)
        try container.encodeIfPresent(file, forKey: .file)
        try container.encode(meta, forKey: .meta)
        try container.encode(createdAt, forKey: .createdAt)
        try container.encode(senderUser, forKey: .senderUser)
        try container.encodeIfPresent(reads, forKey: .reads)
        try container.encodeIfPresent(clientMessageId, forKey: .clientMessageId)
        try container.encodeIfPresent(editedAt, forKey: .editedAt)
        try container.encodeIfPresent(deletedAt, forKey: .deletedAt)
        try container.encode(reactions, forKey: .reactions)
        try container.encodeIfPresent(replyTo, forKey: .replyTo)
    }
}

extension Message.File: Codable {
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .name)
        try container.encode(size, forKey: .size)
    }
}

extension Message.Sender: Codable {
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(id, forKey: .id)
        try container.encode(serial, forKey: .serial)
        try container.encode(meta, forKey: .meta)
    }
}
