import ConversationsAPI
import Foundation
import Postgres
import PushAPI
import ServiceHost
import Testing
import TestSupport
import Wire

@testable import ConversationsServer

/// An unreadable row between readable ones.
@Suite("Unreadable rows") struct PoisonTests {
    private let push = FakePush()

    @Test("An outbox row with a reversed range delays no other row of its conversation")
    func pushOutbox() async throws {
        try await withConversation(push: push) { fixture in
            let pool = fixture.service.database.pool
            let reversed: PostgresQuery =
                """
                INSERT INTO outbox (conversation_id, from_seq, to_seq, written_at)
                SELECT conversation_id, 9, 2, now() FROM conversations
                """
            await #expect(throws: PostgresError.self) { try await pool.run(reversed) }
            try await pool.run("ALTER TABLE outbox DROP CONSTRAINT outbox_seqs_ordered")
            push.setUnavailable(true)
            try await fixture.ana.send("first", in: fixture.token)
            try await pool.run(reversed)
            try await fixture.ana.send("second", in: fixture.token)
            push.setUnavailable(false)

            try await push.waitForNotifications(2)

            #expect(push.bodies == ["ana: first", "ana: second"])
            try await PoisonTest(.pushOutbox, in: fixture.service.database).check()
            try await fixture.ana.send("third", in: fixture.token)
            try await push.waitForNotifications(3)
        }
    }

    @Test("Messages that push rejects temporarily are retried, and delay no later message")
    func refused() async throws {
        try await withConversation(push: push) { fixture in
            push.refuse { $0.body == "ana: bad" ? APIError(.forbidden, "no", "Not now.") : nil }
            try await fixture.ana.send("bad", in: fixture.token)
            try await eventually {
                try await fixture.service.database.setAside([.pushOutbox]).list(before: nil, limit: 9).items.count == 1
            }
            try await fixture.ana.send("good", in: fixture.token)
            try await push.waitForNotifications(1)
            #expect(push.bodies == ["ana: good"])
            push.refuse { _ in nil }
            try await push.waitForNotifications(2)
        }
    }

    @Test("An unreadable message is skipped, and delays no other message or conversation")
    func message() async throws {
        try await withStore { fixture in
            try await fixture.pool.run("ALTER TABLE messages ALTER COLUMN mime DROP NOT NULL")
            try await fixture.pool.run(
                """
                CREATE FUNCTION poison() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN new.mime = NULL; RETURN new; END $$
                """
            )
            try await fixture.pool.run(
                """
                CREATE TRIGGER poison BEFORE INSERT ON messages
                FOR EACH ROW WHEN (new.data = 'poison') EXECUTE FUNCTION poison()
                """
            )
            let other = try await fixture.newConversation()
            try await fixture.withInstances { one, two in
                let ana = try await one.connect("ana")
                let bo = try await two.connect("bo")
                for text in ["before", "poison", "after"] {
                    // The response may be an error because the message is unreadable, but the message is written.
                    _ = try? await bo.send(text, in: fixture.conversation)
                    try await bo.send("other", in: other)
                }
                try await eventually { ana.socket.texts().filter { $0 == "other" }.count == 3 }
                try await eventually { ana.socket.texts().contains("after") }
                #expect(ana.socket.texts().filter { $0 != "other" } == ["before", "after"])

                let setAside = fixture.database.setAside([.message])
                try await eventually { try await setAside.list(before: nil, limit: 9).items.count == 1 }
                let entry = try #require(try await setAside.list(before: nil, limit: 9).items.first)
                #expect(entry.key == ["\(fixture.conversation.id.rawValue)", "2"])
                #expect(entry.retryAt == nil)
                let content = try #require(try await setAside.show(entry.id).content)
                #expect(content["seq"].int == 2)
                #expect(content["data"] == .null)
                #expect(try await setAside.drop(SetAsideSelection(ids: [entry.id])).count == 1)
            }
        }
    }

    @Test("An unreadable conversation delays no other, and is delivered once it is readable")
    func conversation() async throws {
        try await withStore { fixture in
            let other = try await fixture.newConversation()
            try await fixture.pool.run("ALTER TABLE members ALTER COLUMN read_change DROP NOT NULL")
            try await fixture.withInstances { one, two in
                let ana = try await one.connect("ana")
                let bo = try await two.connect("bo")
                func setReadChange(to value: String) async throws {
                    try await fixture.pool.run(
                        """
                        UPDATE members SET read_change = \(unsafe: value)
                        WHERE conversation_id = \(fixture.conversation.id.rawValue) AND user_id = 'cat'
                        """
                    )
                }
                try await setReadChange(to: "NULL")
                // The response may be an error because the conversation is unreadable, but the message is written.
                _ = try? await bo.send("delayed", in: fixture.conversation)
                for _ in 0..<3 { try await bo.send("other", in: other) }
                try await eventually { ana.socket.texts().filter { $0 == "other" }.count == 3 }
                #expect(!ana.socket.texts().contains("delayed"))

                try await setReadChange(to: "0")
                try await eventually { ana.socket.texts().contains("delayed") }
            }
        }
    }
}
