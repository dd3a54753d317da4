import ConversationsAPI
import Foundation
import NIOCore
import Testing
import Wire

@testable import ConversationsServer

/// The hand-written encoder of messages writes the same JSON as the suite's encoder.
@Suite("Encoding of messages") struct MessageResponseTests {
    static let texts = [
        "", "plain", "\"\\/\n\r\t\u{8}\u{C}", "\u{0}\u{1}\u{1F}\u{7F}\u{80}", "ünï¢ödé \u{2028}\u{FFFF} 🎈👩‍👩‍👧",
        String(repeating: "\"", count: 1_000),
    ]

    static let metas: [JSONValue?] = [
        nil, .object([:]),
        .object(["a": .array([.null, .bool(false), .number(1.5), .integer(-7)]), "b": .string("\"")]),
    ]

    @Test("A message and a list have the encoder's JSON")
    func messages() throws {
        var messages: [Message] = []
        for (index, text) in Self.texts.enumerated() {
            for meta in Self.metas {
                messages.append(
                    Message(
                        chatId: Conversation.ID(Int64(index + 1) << 30),
                        seq: Int64(index * 1_000 + 1),
                        change: .max,
                        data: text,
                        mime: text,
                        encoding: "utf8",
                        meta: meta,
                        createdAt: Date(timeIntervalSince1970: Double.random(in: -2e9...4e9)),
                        senderUser: index % 2 == 0 ? nil : Message.Sender(id: 7, serial: text, meta: meta),
                        reads: index % 3 == 0 ? nil : Array(Self.texts.prefix(index)),
                        clientMessageId: index % 2 == 0 ? text : nil,
                        editedAt: index % 2 == 0 ? nil : Date(timeIntervalSince1970: 1.25),
                        deletedAt: index % 3 == 0 ? nil : Date(timeIntervalSince1970: 1e9),
                        reactions: index % 2 == 0 ? [:] : ["👍🏽": ["a", text], "\"": [], "🎈": [text]],
                        replyTo: index % 3 == 0 ? nil : Message.ID(Conversation.ID(3), seq: Int64(index))
                    )
                )
            }
        }

        for message in messages {
            #expect(try json(MessageResponse(message)) == encoded(message))
        }
        #expect(try json(MessageResponse(list: messages)) == encoded(Page(messages)))
        #expect(try json(MessageResponse(list: [])) == encoded(Page<Message>([])))
    }

    @Test("A time has the format of `Timestamp`")
    func times() {
        for _ in 0..<2_000 {
            let date = Date(timeIntervalSince1970: Double.random(in: -2e9...4e9).rounded() + Double.random(in: 0..<1))
            #expect(time(date) == Timestamp.string(from: date))
        }
        for (seconds, text) in [
            (-0.001, "1969-12-31T23:59:59.999Z"), (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (951_868_799.999_9, "2000-03-01T00:00:00.000Z"), (4_107_542_400, "2100-03-01T00:00:00.000Z"),
            (253_402_300_799.999, "9999-12-31T23:59:59.999Z"), (-62_135_596_800, "0001-01-01T00:00:00.000Z"),
        ] {
            #expect(time(Date(timeIntervalSince1970: seconds)) == text)
        }
    }

    private func time(_ date: Date) -> String {
        var writer = JSONWriter(capacity: 32)
        writer.time(date)
        return String(String(buffer: writer.buffer).dropFirst().dropLast())
    }

    private func json(_ reply: MessageResponse) throws -> JSONValue {
        try WireJSON.decoder().decode(JSONValue.self, from: Data(reply.body().readableBytesView))
    }

    private func encoded(_ value: some Encodable) throws -> JSONValue {
        try WireJSON.decoder().decode(JSONValue.self, from: WireJSON.encoder().encode(value))
    }
}
