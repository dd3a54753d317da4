import ConversationsAPI
import Foundation
import HTTPTypes
import Postgres
import ServiceClient
import TestSupport
import Testing
import Wire

/// Edits, deletions, reactions and replies.
@Suite("Amendments of messages") struct AmendmentTests {
    @Test("An edited message is the same in every response")
    func edit() async throws {
        try await withConversation { fixture in
            let draft = MessageDraft(data: "helo", meta: .object(["a": .integer(1)]))
            let said = try await fixture.bo.conversations.send(draft, to: fixture.token)

            let edited = try await fixture.bo.conversations.edit(said.id, in: fixture.token, to: .init(data: "hello"))

            #expect(edited.data == "hello")
            #expect(edited.meta == draft.meta)
            #expect(edited.seq == 1)
            #expect(edited.change == 2)
            #expect(try #require(edited.editedAt) >= edited.createdAt)
            #expect(try await fixture.ana.conversations.messages(fixture.token) == [edited])
            #expect(try await fixture.ana.conversations.conversation(fixture.token).lastMessage == edited)
            #expect(try await fixture.ana.conversations.list().items.first?.lastMessage == edited)
            #expect(try await fixture.missed(after: 1).messages == [edited])
        }
    }

    @Test("An edit replaces, removes or keeps the metadata")
    func editMeta() async throws {
        try await withConversation { fixture in
            let (old, new) = (JSONValue.object(["a": .integer(1)]), JSONValue.object(["b": .integer(2)]))
            let said = try await fixture.ana.conversations.send(.init(data: "x", meta: old), to: fixture.token)
            let path = "/conversations/\(fixture.token)/messages/\(said.id)"

            #expect(try await fixture.ana.ask(.patch, path, #"{"data": "y"}"#).json["meta"] == old)
            #expect(try await fixture.ana.ask(.patch, path, #"{"data": "y", "meta": {"b": 2}}"#).json["meta"] == new)
            #expect(try await fixture.ana.ask(.patch, path, #"{"data": "y", "meta": null}"#).json["meta"] == .null)
        }
    }

    @Test("An edit that changes nothing takes no change number")
    func emptyEdit() async throws {
        try await withConversation { fixture in
            let said = try await fixture.ana.send("hello", in: fixture.token)
            let same = try await fixture.ana.conversations.edit(said.id, in: fixture.token, to: .init(data: "hello"))
            #expect(same == said)
        }
    }

    @Test("A deleted message keeps only its sequence")
    func deletion() async throws {
        try await withConversation { fixture in
            var messages: [Message] = []
            for number in 1...3 {
                let draft = MessageDraft(data: "\(number)", meta: .object([:]), clientMessageId: "\(number)")
                messages.append(try await fixture.bo.conversations.send(draft, to: fixture.token))
            }
            try await fixture.ana.conversations.react("🎉", to: messages[1].id, in: fixture.token)

            let deleted = try await fixture.bo.conversations.delete(messages[1].id, in: fixture.token)
            let again = try await fixture.bo.conversations.delete(messages[1].id, in: fixture.token)
            let retried = try await fixture.bo.conversations.send(
                MessageDraft(data: "2", clientMessageId: "2"),
                to: fixture.token
            )

            #expect(deleted.data.isEmpty)
            #expect(deleted.meta == nil)
            #expect(deleted.reactions.isEmpty)
            #expect(deleted.deletedAt != nil)
            #expect(deleted.seq == 2)
            #expect(deleted.change == 5)
            #expect(again == deleted)
            #expect(retried == deleted)
            let page = try await fixture.ana.conversations.messages(
                fixture.token,
                query: [("count", "1"), ("page", "1")]
            )
            #expect(page == [deleted])
            let raw = try await fixture.service.database.pool.all(
                "SELECT messages::text AS row FROM messages WHERE seq = 2",
                as: { try $0.string("row") }
            )
            #expect(raw.allSatisfy { !$0.contains("{}") })
        }
    }

    @Test("An admin can delete any message, a member only their own")
    func deletionPermission() async throws {
        try await withConversation { fixture in
            let said = try await fixture.bo.send("hello", in: fixture.token)
            #expect(try await fixture.ana.conversations.delete(said.id, in: fixture.token).deletedAt != nil)
            let mine = try await fixture.ana.send("hello", in: fixture.token)
            let refusal = try await fixture.bo.ask(.delete, "/conversations/\(fixture.token)/messages/\(mine.id)")
            #expect(refusal.status == 403)
            #expect(refusal.problem?.code == "not_author")
        }
    }

    @Test("Reactions are grouped by emoji, in order of their creation")
    func reactions() async throws {
        try await withConversation(ConversationDraft(label: "x", members: ["bo", "eve"])) { fixture in
            let said = try await fixture.ana.send("hello", in: fixture.token)
            for person in [fixture.eve, fixture.ana, fixture.bo, fixture.eve] {
                try await person.conversations.react("👍", to: said.id, in: fixture.token)
            }
            let reacted = try await fixture.bo.conversations.react("🎉", to: said.id, in: fixture.token)
            #expect(reacted.reactions == ["👍": ["eve", "ana", "bo"], "🎉": ["bo"]])
            #expect(reacted.change == 5)
            #expect(try await fixture.missed(after: 4).messages == [reacted])

            try await fixture.ana.conversations.unreact("👍", to: said.id, in: fixture.token)
            try await fixture.ana.conversations.unreact("👍", to: said.id, in: fixture.token)
            let left = try await fixture.bo.conversations.unreact("🎉", to: said.id, in: fixture.token)
            #expect(left.reactions == ["👍": ["eve", "bo"]])
            #expect(left.change == 7)
        }
    }

    static let emoji = [
        "👍", "👍🏽", "❤️", "❤", "👩‍👩‍👧‍👦", "🧑🏿‍❤️‍💋‍🧑🏻", "🏳️‍🌈", "🏴‍☠️", "🏴󠁧󠁢󠁳󠁣󠁴󠁿", "🇩🇪", "1️⃣", "#️⃣", "©️", "🫠", "👁️‍🗨️", "☺️",
    ]

    @Test("Any single emoji is a valid reaction")
    func validEmoji() async throws {
        try await withConversation { fixture in
            let said = try await fixture.ana.send("hello", in: fixture.token)
            var reacted = said
            for emoji in Self.emoji {
                reacted = try await fixture.bo.conversations.react(emoji, to: said.id, in: fixture.token)
                #expect(reacted.reactions[emoji] == ["bo"], "\(emoji)")
            }
            #expect(Set(reacted.reactions.keys) == Set(Self.emoji))
            #expect(try await fixture.ana.conversations.messages(fixture.token) == [reacted])
        }
    }

    @Test("A text that is not a single emoji is rejected")
    func invalidEmoji() async throws {
        try await withConversation { fixture in
            let said = try await fixture.ana.send("hello", in: fixture.token)
            for text in [
                "a", "1", "#", "ok", "👍👍", "👍a", " 👍", "🇩", "🇩🇪🇫🇷", "👍" + String(repeating: "\u{301}", count: 9),
                ":+1:", "\u{200D}", "\u{FE0F}", "١", "字", String(repeating: "👩‍", count: 20) + "👩", "\u{7F}",
                "1\u{20E3}x",
            ] {
                let path = "/conversations/\(fixture.token)/messages/\(said.id)/reactions/"
                let answer = try await fixture.bo.ask(.put, path + ServiceClient.percentEncoded(text))
                #expect(answer.status == 400, "\(text) \(answer.text)")
                #expect(answer.problem?.field == "emoji", "\(text) \(answer.text)")
            }
            #expect(try await fixture.ana.conversations.messages(fixture.token) == [said])
        }
    }

    @Test("A message has at most 20 different reactions")
    func emojiLimit() async throws {
        try await withConversation { fixture in
            let said = try await fixture.ana.send("hello", in: fixture.token)
            let emoji = (0...20).compactMap { Unicode.Scalar(0x1F600 + $0).map { String(Character($0)) } }
            for emoji in emoji.prefix(20) {
                try await fixture.ana.conversations.react(emoji, to: said.id, in: fixture.token)
            }
            let path = "/conversations/\(fixture.token)/messages/\(said.id)/reactions/"
            let refusal = try await fixture.bo.ask(.put, path + ServiceClient.percentEncoded(emoji[20]))
            #expect(refusal.status == 422)
            #expect(refusal.problem?.code == "too_many_reactions")
            let same = try await fixture.bo.conversations.react(emoji[3], to: said.id, in: fixture.token)
            #expect(same.reactions[emoji[3]] == ["ana", "bo"])
        }
    }

    @Test("A reply refers to a message of its own conversation")
    func reply() async throws {
        try await withConversation { fixture in
            let said = try await fixture.ana.send("hello?", in: fixture.token)
            let reply = try await fixture.bo.conversations.send(.init(data: "hi", replyTo: said.id), to: fixture.token)
            #expect(reply.replyTo == said.id)
            try await fixture.ana.conversations.delete(said.id, in: fixture.token)
            #expect(try await fixture.ana.conversations.messages(fixture.token).first == reply)

            let other = try await fixture.bo.conversations.create(.init(label: "Other"))
            let there = try await fixture.bo.send("there", in: other.token)
            let beyond = Message.ID(fixture.conversation.id, seq: 3)
            for id in ["\(there.id)", "\(beyond)", "0", "-1", "1", "9007199254740993", #""x""#, "1.5"] {
                let body = #"{"data": "x", "replyTo": \#(id)}"#
                let answer = try await fixture.bo.ask(.post, "/conversations/\(fixture.token)/messages", body)
                #expect(answer.status == 400, "\(id) \(answer.text)")
                #expect(answer.problem?.field == "replyTo", "\(id) \(answer.text)")
            }
            let stranger = try await fixture.eve.ask(
                .post,
                "/conversations/\(fixture.token)/messages",
                #"{"data": "x", "replyTo": \#(said.id)}"#
            )
            #expect(stranger.status == 404)
        }
    }

    @Test("System messages and deleted messages cannot be changed")
    func immutableMessages() async throws {
        try await withConversation { fixture in
            try await fixture.eve.conversations.join(fixture.token)
            let joined = try #require(try await fixture.ana.conversations.messages(fixture.token).first)
            let deleted = try await fixture.ana.send("hello", in: fixture.token)
            try await fixture.ana.conversations.delete(deleted.id, in: fixture.token)
            let reaction = "reactions/" + ServiceClient.percentEncoded("👍")

            for (id, code) in [(joined.id, "system_message"), (deleted.id, "message_deleted")] {
                let path = "/conversations/\(fixture.token)/messages/\(id)"
                let edit = try await fixture.ana.ask(.patch, path, #"{"data": "x"}"#)
                #expect(edit.status == 422)
                #expect(edit.problem?.code == code)
                let react = try await fixture.ana.ask(.put, "\(path)/\(reaction)")
                #expect(react.status == 422)
                #expect(react.problem?.code == code)
            }
            let path = "/conversations/\(fixture.token)/messages/\(joined.id)"
            #expect(try await fixture.ana.ask(.delete, path).problem?.code == "system_message")
        }
    }

    @Test("A message of another conversation responds 404")
    func unknownMessage() async throws {
        try await withConversation { fixture in
            let other = try await fixture.ana.conversations.create(.init(label: "Other", members: ["bo"]))
            let there = try await fixture.ana.send("there", in: other.token)
            let beyond = Message.ID(fixture.conversation.id, seq: 1)
            for id in ["\(there.id)", "\(beyond)", "0", "-1", "x", "9007199254740993"] {
                let path = "/conversations/\(fixture.token)/messages/\(id)"
                for (method, path, body) in [
                    (.patch, path, #"{"data": "x"}"#), (.delete, path, nil),
                    (.put, "\(path)/reactions/%F0%9F%91%8D", nil), (.delete, "\(path)/reactions/%F0%9F%91%8D", nil),
                ] as [(HTTPRequest.Method, String, String?)] {
                    let answer = try await fixture.ana.ask(method, path, body)
                    #expect(answer.status == 404, "\(method) \(path)")
                    #expect(answer.problem?.code == "message_not_found", "\(method) \(path)")
                    let stranger = try await fixture.eve.ask(method, path, body)
                    #expect(stranger.status == 404, "\(method) \(path)")
                }
            }
        }
    }
}

extension ConversationFixture {
    /// Returns the changes after a change number.
    func missed(after change: Int64) async throws -> Changes.Missed {
        guard
            case .missed(let missed) = try await ana.conversations.changes(token, after: change, limit: 100)
        else { throw TestSupportError("resync") }
        return missed
    }
}
