package import Foundation
package import Wire

/// A message by a user, or a system message about a change in the conversation.
package struct Message: Hashable, Sendable, PageItem {
    package typealias ID = Wire.ID<Message, Int64>

    package static let pluralName = "messages"

    package var id: ID
    /// 1, 2, 3 … within the conversation, without gaps; all members see this order.
    package var seq: Int64
    /// The change number of the message's latest change in the conversation.
    package var change: Int64
    package var chatId: Conversation.ID
    /// The text; JSON in a system message.
    package var data: String
    package var mime: String
    package var encoding: String
    /// The file's name and size when `encoding` is `url`; `data` is then a link to the file.
    package var file: File?
    package var meta: JSONValue?
    /// Precise to the millisecond; never decreases as `seq` increases.
    package var createdAt: Date
    /// Null in a system message.
    package var senderUser: Sender?
    /// The users who have read the message; absent when the conversation has more than 100 members.
    package var reads: [String]?
    package var clientMessageId: String?
    package var editedAt: Date?
    /// The time of deletion for all members; the message keeps its `seq` but loses its content.
    package var deletedAt: Date?
    /// The userIds by emoji, in the order of the reactions.
    package var reactions: [String: [String]]
    /// The message in the same conversation that this message replies to.
    package var replyTo: ID?

    /// The name and size of a file that was sent.
    package struct File: Hashable, Sendable {
        package var name: String?
        /// In bytes.
        package var size: Int64

        package init(name: String?, size: Int64) {
            self.name = name
            self.size = size
        }
    }

    /// The user who sent a message.
    package struct Sender: Hashable, Sendable {
        /// A number that identifies the user, because diuit's clients expect a numeric `id`.
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
    /// Encodes absent values as null, because clients may rely on the keys.
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
