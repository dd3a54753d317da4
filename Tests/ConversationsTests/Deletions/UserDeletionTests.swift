import AuthAPI
import ConversationsAPI
import Credentials
import Foundation
import HTTPTypes
import Postgres
import ServiceClient
import ServiceHost
import TestSupport
import Testing
import Wire

@testable import ConversationsServer

/// A deleted user's messages remain, without anything that identifies the user.
@Suite("Deletion of users") struct UserDeletionTests {
    /// Publishes the deletion of a user, as auth does.
    private func delete(
        _ user: User.ID,
        in fixture: ConversationFixture,
        at moment: Date = Date(),
        id: UUID = UUID(),
        deletionJob: Wire.DeletionJob? = nil
    ) async throws {
        let deleted = UserDeleted(applicationId: user.application, userId: user.user, deletionJob: deletionJob)
        let event = Event(
            id: id,
            type: UserDeleted.type,
            at: moment,
            content: try WireJSON.decoder().decode(JSONValue.self, from: try WireJSON.encoder().encode(deleted))
        )
        let auth = try fixture.service.peerClient("auth", callee: "conversations")
        _ = try await auth.send(.post, "/internal/events", body: try WireJSON.encoder().encode(event))
    }

    private func waitForDeletion(_ fixture: ConversationFixture) async throws {
        try await eventually {
            try await fixture.service.database.pool.first("SELECT deletion_id FROM user_deletions", as: { _ in true })
                == nil
        }
    }

    /// Returns every table that contains the text, except the outbox, whose rows are removed within minutes.
    private func finds(_ text: String, in fixture: ConversationFixture) async throws -> [String] {
        let pool = fixture.service.database.pool
        let tables = try await pool.all(
            "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()",
            as: { try $0.string("tablename") }
        )
        var found: [String] = []
        for table in tables where table != "outbox" {
            let rows = try await pool.one(
                "SELECT count(*) AS n FROM \(identifier: table) AS t WHERE t::text LIKE \("%\(text)%")",
                as: { try $0.int("n") }
            )
            if rows > 0 { found.append(table) }
        }
        return found
    }

    @Test("A deleted application leaves no users, not even named ones, and no conversations")
    func application() async throws {
        try await withConversation { fixture in
            let ana = try await fixture.person("ana", application: "acme")
            let bo = try await fixture.person("bo", application: "acme")
            for number in 0..<120 {
                let draft = ConversationDraft(label: "Walk \(number)", members: ["bo", "named \(number)"])
                _ = try await ana.conversations.create(draft)
            }
            let empty = try await ana.conversations.create(ConversationDraft(label: "Empty"))
            try await ana.conversations.leave(empty.token)
            let direct = try await ana.conversations.create(ConversationDraft(members: ["bo"], type: "direct"))
            try await ana.send("between us", in: direct.token)
            try await bo.conversations.block("never seen")
            let devices = Devices(database: fixture.service.database.pool, events: .none, now: { Date() })
            _ = try await devices.signIn(
                by: Identity(user: ana.id, session: "s", device: "phone", expires: Date().addingTimeInterval(60))
            )
            let kept = try await fixture.ana.send("of another application", in: fixture.token)

            let deleted = ApplicationDeleted(
                applicationId: "acme",
                deletionJob: Wire.DeletionJob(id: UUID(), round: 1)
            )
            let event = Event(
                id: UUID(),
                type: ApplicationDeleted.type,
                at: Date(),
                content: try WireJSON.decoder().decode(JSONValue.self, from: try WireJSON.encoder().encode(deleted))
            )
            let body = try WireJSON.encoder().encode(event)
            let auth = try fixture.service.peerClient("auth", callee: "conversations")
            _ = try await auth.send(.post, "/internal/events", body: body)

            let pool = fixture.service.database.pool
            try await eventually {
                try await pool.first("SELECT FROM unconfirmed_deletions", as: { _ in true }) == nil
            }
            for table in [
                "conversations", "members", "users", "devices", "blocks", "directs", "conversation_deletions",
            ] {
                let rows = try await pool.one(
                    "SELECT count(*) AS n FROM \(identifier: table) WHERE application_id = 'acme'",
                    as: { try $0.int("n") }
                )
                #expect(rows == 0, "\(table)")
            }
            let texts = try await pool.one(
                "SELECT count(*) AS n FROM messages WHERE data = 'between us'",
                as: { try $0.int("n") }
            )
            #expect(texts == 0)
            #expect(try await fixture.ana.conversations.messages(fixture.token).first?.id == kept.id)
            #expect(try await ana.conversations.list().items.isEmpty)
            // Only auth may publish the deletion of an application.
            let photos = try fixture.service.peerClient("photos", callee: "conversations")
            await #expect(throws: APIError.self) { _ = try await photos.post("/internal/events", event, as: Done.self) }
        }
    }

    @Test("A deletion that fails is retried and does not delay other deletions")
    func failedUserDeletion() async throws {
        try await withConversation { fixture in
            let (stuck, leaver) = (try await fixture.person("stuck-4b1c"), try await fixture.person("leaver-9d2e"))
            for person in [stuck, leaver] {
                _ = try await fixture.ana.ask(.put, "/conversations/\(fixture.token)/members/\(person.id.user)")
                try await person.send("I was here", in: fixture.token)
            }
            let pool = fixture.service.database.pool
            try await pool.run(
                """
                ALTER TABLE messages ADD CONSTRAINT test CHECK (sender_id IS NOT NULL OR data <> 'I stay') NOT VALID
                """
            )
            try await stuck.send("I stay", in: fixture.token)

            try await delete(stuck.id, in: fixture)
            try await delete(leaver.id, in: fixture)
            try await eventually {
                try await pool.all("SELECT user_id FROM user_deletions", as: { try $0.string("user_id") }) == [
                    stuck.id.user
                ]
            }
            #expect(try await finds(leaver.id.user, in: fixture) == [])

            try await pool.run("ALTER TABLE messages DROP CONSTRAINT test")
            try await waitForDeletion(fixture)
            #expect(try await finds(stuck.id.user, in: fixture) == [])
        }
    }

    @Test("A deleted user who never wrote leaves no trace")
    func silentMember() async throws {
        try await withConversation { fixture in
            let leaver = try await fixture.person("leaver-8c3f")
            _ = try await fixture.ana.ask(.put, "/conversations/\(fixture.token)/members/\(leaver.id.user)")
            _ = try await leaver.conversations.leave(fixture.token)

            try await delete(leaver.id, in: fixture)
            try await waitForDeletion(fixture)
            let found = try await finds(leaver.id.user, in: fixture)
            #expect(found == [])
        }
    }

    @Test("A deleted user who was only on a white list leaves no trace")
    func whiteListEntry() async throws {
        try await withConversation { fixture in
            let leaver = try await fixture.person("leaver-2a7b")
            // The maximum number of user ids, with the maximum total length.
            var names = [leaver.id.user] + (0..<999).map { "\($0)-" + String(repeating: "x", count: 57) }
            while (try? DraftRules.whiteListSize(names + ["x"])) != nil { names[1] += "x" }
            let event = try SystemEvent.whiteListUpdated(names).data()
            // The deleted user was on the list, is not any longer, and never joined.
            for user in [leaver.id.user, "bo"] {
                let body = #"{"whiteList": ["\#(user)"]}"#
                let answer = try await fixture.ana.ask(.put, "/conversations/\(fixture.token)/whiteList", body)
                #expect(answer.status == 200)
            }
            let changed = try await fixture.service.database.pool.run(
                "UPDATE messages SET data = \(event) WHERE data LIKE \("%\(leaver.id.user)%")"
            )
            #expect(changed == 1)
            try await delete(leaver.id, in: fixture)
            try await waitForDeletion(fixture)
            let found = try await finds(leaver.id.user, in: fixture)
            #expect(found == [])
        }
    }

    @Test("A deleted user's messages stay without the sender, and everything else is removed")
    func anonymizedMessages() async throws {
        try await withConversation { fixture in
            let leaver = try await fixture.person("leaver-7f3a")
            _ = try await fixture.ana.ask(.put, "/conversations/\(fixture.token)/members/\(leaver.id.user)")
            let said = try await leaver.send("I was here", in: fixture.token)
            let answer = try await fixture.ana.send("so you were", in: fixture.token)
            try await leaver.conversations.react("👍", to: answer.id, in: fixture.token)
            try await fixture.ana.conversations.react("👋", to: answer.id, in: fixture.token)
            let own = try await leaver.conversations.create(ConversationDraft(label: "Own", members: ["bo"]))
            let direct = try await leaver.conversations.create(ConversationDraft(members: ["ana"], type: "direct"))
            try await leaver.send("between us", in: direct.token)
            let former = try await fixture.ana.conversations.create(
                ConversationDraft(label: "Former", members: [leaver.id.user], whiteList: .only([leaver.id.user]))
            )
            try await leaver.send("I go", in: former.token)
            try await leaver.conversations.leave(former.token)
            try await fixture.ana.conversations.block(leaver.id.user)
            try await leaver.conversations.block("bo")
            let devices = Devices(database: fixture.service.database.pool, events: .none, now: { Date() })
            _ = try await devices.signIn(
                by: Identity(
                    user: leaver.id,
                    session: "session",
                    device: "phone of leaver-7f3a",
                    registration: PushRegistration(platform: "gcm", pushToken: "token of leaver-7f3a"),
                    expires: Date().addingTimeInterval(3_600)
                )
            )
            _ = try await devices.replaceMeta(.object(["name": .string("leaver-7f3a")]), of: leaver.id)

            try await delete(leaver.id, in: fixture)
            try await waitForDeletion(fixture)

            #expect(try await finds("leaver-7f3a", in: fixture) == [])
            let history = try await fixture.ana.conversations.messages(fixture.token)
            let kept = try #require(history.first { $0.seq == said.seq })
            #expect(kept.data == "I was here")
            #expect(kept.senderUser == nil)
            #expect(kept.deletedAt == nil)
            #expect(history.first { $0.seq == answer.seq }?.reactions == ["👋": ["ana"]])
            #expect(history.first?.data == #"{"type":"user.left","userId":""}"#)
            let left = try await fixture.ana.conversations.conversation(fixture.token)
            #expect(left.members == ["ana", "bo"])
            // A remaining member becomes admin, and the conversation has no creator.
            #expect(try await fixture.bo.conversations.conversation(own.token).admins == ["bo"])
            #expect(try await fixture.ana.conversations.messages(direct.token).map(\.data) == ["between us"])
            #expect(try await fixture.ana.conversations.blocks().items.isEmpty)
            #expect(try await fixture.ana.conversations.messages(former.token).last { $0.senderUser == nil } != nil)
            #expect(try await leaver.ask(.get, "/conversations/\(fixture.token)").status == 404)
        }
    }

    @Test("A conversation whose only member is deleted is removed")
    func emptyConversations() async throws {
        try await withConversation { fixture in
            let leaver = try await fixture.person("leaver-7f3a")
            let alone = try await leaver.conversations.create(ConversationDraft(label: "Diary"))
            try await leaver.send("dear diary", in: alone.token)

            try await delete(leaver.id, in: fixture)
            try await waitForDeletion(fixture)

            try await eventually { try await finds("dear diary", in: fixture).isEmpty }
            #expect(try await finds("leaver-7f3a", in: fixture) == [])
            #expect(try await finds("Diary", in: fixture) == [])
        }
    }

    @Test("A deletion is confirmed once no table contains the user")
    func confirmation() async throws {
        try await withConversation { fixture in
            let leaver = try await fixture.person("leaver-7f3a")
            _ = try await fixture.ana.ask(.put, "/conversations/\(fixture.token)/members/\(leaver.id.user)")
            try await leaver.send("I was here", in: fixture.token)
            // Simulates a join by a request that was running during the deletion.
            let pool = fixture.service.database.pool
            try await pool.run("UPDATE member_joins SET joined_at = clock_timestamp() + interval '1 hour'")
            let deletionJob = Wire.DeletionJob(id: UUID(), round: 1)
            let id = deletionJob.id.uuidString.lowercased()

            try await delete(leaver.id, in: fixture, deletionJob: deletionJob)

            try await waitForDeletion(fixture)
            #expect(try await finds(id, in: fixture) == ["unconfirmed_deletions"])
            // The join's row, which other instances read, contains the user, so the confirmation waits for its removal too.
            try await pool.run("DELETE FROM member_joins")
            try await eventually { try await finds(id, in: fixture).isEmpty }
            #expect(try await finds("leaver-7f3a", in: fixture) == [])
        }
    }

    @Test("A new user with the id of a deleted user starts empty, and an old event does not affect them")
    func reusedUserID() async throws {
        try await withConversation { fixture in
            try await fixture.bo.send("the former", in: fixture.token)
            let direct = try await fixture.ana.conversations.create(ConversationDraft(members: ["bo"], type: "direct"))

            try await delete(fixture.bo.id, in: fixture, at: Date())
            try await waitForDeletion(fixture)
            let again = try await fixture.ana.conversations.create(ConversationDraft(members: ["bo"], type: "direct"))
            try await fixture.bo.send("the new one", in: again.token)

            #expect(again.id != direct.id)
            #expect(try await fixture.bo.conversations.list().items.map(\.id) == [again.id])
            // Events may be delivered twice; the old deletion must not affect the new user.
            try await delete(fixture.bo.id, in: fixture, at: Date().addingTimeInterval(-60))
            try await waitForDeletion(fixture)
            let said = try await fixture.ana.conversations.messages(again.token)
            #expect(said.first { $0.data == "the new one" }?.senderUser?.serial == "bo")
        }
    }

    @Test("A repeated event does nothing, nor does one for an unknown user")
    func repeatedEvent() async throws {
        try await withConversation { fixture in
            let id = UUID()
            try await delete(fixture.bo.id, in: fixture, id: id)
            try await waitForDeletion(fixture)
            try await fixture.bo.conversations.join(fixture.token)
            try await delete(fixture.bo.id, in: fixture, id: id)
            try await waitForDeletion(fixture)
            #expect(try await fixture.ana.conversations.conversation(fixture.token).members == ["ana", "bo"])
            // The deletion of an unknown user must not fail.
            try await delete(User.ID(application: "other", user: "never seen"), in: fixture)
            try await waitForDeletion(fixture)
        }
    }

    @Test("The deletion of a user does not affect the same id in another application")
    func otherApplication() async throws {
        try await withConversation { fixture in
            let other = try await fixture.person(fixture.bo.id.user, application: "roost")
            try await fixture.bo.send("mine", in: fixture.token)
            try await delete(other.id, in: fixture)
            try await waitForDeletion(fixture)
            let history = try await fixture.ana.conversations.messages(fixture.token)
            #expect(history.first?.senderUser?.serial == "bo")
        }
    }
}
