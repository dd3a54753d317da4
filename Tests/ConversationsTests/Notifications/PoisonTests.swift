import ConversationsAPI
import Foundation
import Postgres
import PushAPI
import ServiceHost
import Testing
import TestSupport
import Wire

@testable import ConversationsServer

/// A bad row between two good ones.
@Suite("Rows that conversations cannot read") struct PoisonTests {
    private let push = PushStandIn()

    @Test("A row of the outbox whose messages are the wrong way round delays no other of its conversation")
    func pushOutbox() async throws {
        try await withConversation(push: push) { scene in
            let pool = scene.service.database.pool
            let reversed: PostgresQuery =
                """
                INSERT INTO outbox (conversation_id, from_seq, to_seq, written_at)
                SELECT conversation_id, 9, 2, now() FROM conversations
                """
            await #expect(throws: PostgresError.self) { try await pool.run(reversed) }
            try await pool.run("ALTER TABLE outbox DROP CONSTRAINT outbox_seqs_ordered")
            push.setAway(true)
            try await scene.ann.say("first", in: scene.token)
            try await pool.run(reversed)
            try await scene.ann.say("second", in: scene.token)
            push.setAway(false)

            try await push.has(2)

            #expect(push.bodies == ["ann: first", "ann: second"])
            try await PoisonTest(.pushOutbox, in: scene.service.database).check()
            try await scene.ann.say("third", in: scene.token)
            try await push.has(3)
        }
    }

    @Test("Messages that push refuses for now are retried, and delay no later message")
    func refused() async throws {
        try await withConversation(push: push) { scene in
            push.refuse { $0.body == "ann: bad" ? APIError(.forbidden, "no", "Not now.") : nil }
            try await scene.ann.say("bad", in: scene.token)
            try await eventually {
                try await scene.service.database.setAside([.pushOutbox]).list(before: nil, limit: 9).things.count == 1
            }
            try await scene.ann.say("good", in: scene.token)
            try await push.has(1)
            #expect(push.bodies == ["ann: good"])
            push.refuse { _ in nil }
            try await push.has(2)
        }
    }

    @Test("A message that cannot be read is left out, and delays no other message and no other conversation")
    func message() async throws {
        try await withStore { scene in
            try await scene.pool.run("ALTER TABLE messages ALTER COLUMN mime DROP NOT NULL")
            try await scene.pool.run(
                """
                CREATE FUNCTION poison() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN new.mime = NULL; RETURN new; END $$
                """
            )
            try await scene.pool.run(
                """
                CREATE TRIGGER poison BEFORE INSERT ON messages
                FOR EACH ROW WHEN (new.data = 'poison') EXECUTE FUNCTION poison()
                """
            )
            let other = try await scene.newConversation()
            try await scene.withInstances { one, two in
                let ann = try await one.connect("ann")
                let bob = try await two.connect("bob")
                for text in ["before", "poison", "after"] {
                    // The writer may be told that its message cannot be read: it is written all the same.
                    _ = try? await bob.say(text, in: scene.conversation)
                    try await bob.say("other", in: other)
                }
                try await eventually { ann.socket.texts().filter { $0 == "other" }.count == 3 }
                try await eventually { ann.socket.texts().contains("after") }
                #expect(ann.socket.texts().filter { $0 != "other" } == ["before", "after"])

                let setAside = scene.database.setAside([.message])
                try await eventually { try await setAside.list(before: nil, limit: 9).things.count == 1 }
                let entry = try #require(try await setAside.list(before: nil, limit: 9).things.first)
                #expect(entry.key == ["\(scene.conversation.id.rawValue)", "2"] && entry.retryAt == nil)
                let content = try #require(try await setAside.show(entry.id).content)
                #expect(content["seq"].int == 2 && content["data"] == .null)
                #expect(try await setAside.drop(SetAsideSelection(ids: [entry.id])).count == 1)
            }
        }
    }

    @Test("A conversation that cannot be read delays no other, and is delivered once it can be read")
    func conversation() async throws {
        try await withStore { scene in
            let other = try await scene.newConversation()
            try await scene.pool.run("ALTER TABLE members ALTER COLUMN read_change DROP NOT NULL")
            try await scene.withInstances { one, two in
                let ann = try await one.connect("ann")
                let bob = try await two.connect("bob")
                func setReadChange(to value: String) async throws {
                    try await scene.pool.run(
                        """
                        UPDATE members SET read_change = \(unsafe: value)
                        WHERE conversation_id = \(scene.conversation.id.rawValue) AND user_id = 'cat'
                        """
                    )
                }
                try await setReadChange(to: "NULL")
                // The writer may be told that the conversation cannot be read: the message is written all the same.
                _ = try? await bob.say("delayed", in: scene.conversation)
                for _ in 0..<3 { try await bob.say("other", in: other) }
                try await eventually { ann.socket.texts().filter { $0 == "other" }.count == 3 }
                #expect(!ann.socket.texts().contains("delayed"))

                try await setReadChange(to: "0")
                try await eventually { ann.socket.texts().contains("delayed") }
            }
        }
    }
}
