import ConversationsAPI
import Hummingbird
import NIOCore
import ServiceHost
import Wire

/// A response with one message, or with `{messages: [...]}`.
struct MessageResponse: ResponseGenerator {
    private let messages: [Message]
    private let isList: Bool

    init(_ message: Message) {
        messages = [message]
        isList = false
    }

    init(list messages: [Message]) {
        self.messages = messages
        isList = true
    }

    func response(from request: Request, context: some RequestContext) throws -> Response {
        let body = try body()
        return Response(
            status: .ok,
            headers: [.contentType: "application/json; charset=utf-8", .contentLength: "\(body.readableBytes)"],
            body: ResponseBody(byteBuffer: body)
        )
    }

    /// Writes the same JSON as the suite's encoder, with the fields in the order of their declaration.
    func body() throws -> ByteBuffer {
        var writer = JSONWriter(capacity: messages.reduce(32) { $0 + 512 + $1.data.utf8.count })
        if isList { writer.raw("{\"messages\":[") }
        for (index, message) in messages.enumerated() {
            if index > 0 { writer.raw(",") }
            try writer.message(message)
        }
        if isList { writer.raw("]}") }
        return writer.buffer
    }
}

extension JSONWriter {
    /// Writes a message in its wire format.
    mutating func message(_ message: Message) throws {
        raw("{\"id\":")
        number(message.id.rawValue)
        raw(",\"seq\":")
        number(message.seq)
        raw(",\"change\":")
        number(message.change)
        raw(",\"chatId\":")
        number(message.chatId.rawValue)
        raw(",\"data\":")
        string(message.data)
        raw(",\"mime\":")
        string(message.mime)
        raw(",\"encoding\":")
        string(message.encoding)
        if let file = message.file {
            raw(",\"file\":{\"name\":")
            if let name = file.name { string(name) } else { raw("null") }
            raw(",\"size\":")
            number(file.size)
            raw("}")
        }
        raw(",\"meta\":")
        try value(message.meta ?? .null)
        raw(",\"createdAt\":")
        time(message.createdAt)
        raw(",\"senderUser\":")
        try sender(message.senderUser)
        if let reads = message.reads {
            raw(",\"reads\":")
            strings(reads)
        }
        if let id = message.clientMessageId {
            raw(",\"clientMessageId\":")
            string(id)
        }
        if let date = message.editedAt {
            raw(",\"editedAt\":")
            time(date)
        }
        if let date = message.deletedAt {
            raw(",\"deletedAt\":")
            time(date)
        }
        raw(",\"reactions\":")
        reactions(message.reactions)
        if let id = message.replyTo {
            raw(",\"replyTo\":")
            number(id.rawValue)
        }
        raw("}")
    }

    private mutating func sender(_ sender: Message.Sender?) throws {
        guard let sender else { return raw("null") }
        raw("{\"id\":")
        number(sender.id)
        raw(",\"serial\":")
        string(sender.serial)
        raw(",\"meta\":")
        try value(sender.meta ?? .null)
        raw("}")
    }

    private mutating func reactions(_ reactions: [String: [String]]) {
        raw("{")
        for (index, (emoji, users)) in reactions.enumerated() {
            if index > 0 { raw(",") }
            string(emoji)
            raw(":")
            strings(users)
        }
        raw("}")
    }

    private mutating func strings(_ texts: [String]) {
        raw("[")
        for (index, text) in texts.enumerated() {
            if index > 0 { raw(",") }
            string(text)
        }
        raw("]")
    }
}
