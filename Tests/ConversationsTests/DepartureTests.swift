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

/// What is left of somebody who was deleted: what he said, and nothing that says who he was.
@Suite struct DepartureTests {
    /// As auth tells it.
    private func delete(
        _ user: User.ID,
        in scene: Scene,
        at moment: Date = Date(),
        id: UUID = UUID(),
        departure: Wire.Departure? = nil
    ) async throws {
        let deleted = UserDeleted(applicationId: user.application, userId: user.user, departure: departure)
        let event = Event(
            id: id,
            type: UserDeleted.type,
            at: moment,
            content: try WireJSON.decoder().decode(JSONValue.self, from: try WireJSON.encoder().encode(deleted))
        )
        let auth = try scene.service.neighbour("auth", callee: "conversations")
        _ = try await auth.send(.post, "/internal/events", body: try WireJSON.encoder().encode(event))
    }

    private func isDone(_ scene: Scene) async throws {
        try await eventually {
            try await scene.service.database.pool.first("SELECT departure_id FROM departures", as: { _ in true }) == nil
        }
    }

    /// Every table that has the text somewhere, but for the one whose rows are gone within minutes.
    private func finds(_ text: String, in scene: Scene) async throws -> [String] {
        let pool = scene.service.database.pool
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

    @Test("Of a deleted application nothing is left, neither users who were only named, nor empty conversations")
    func application() async throws {
        try await withConversation { scene in
            let ada = try await scene.person("ada", application: "acme")
            let bo = try await scene.person("bo", application: "acme")
            for number in 0..<120 {
                let draft = ConversationDraft(label: "Walk \(number)", members: ["bo", "named \(number)"])
                _ = try await ada.conversations.create(draft)
            }
            let empty = try await ada.conversations.create(ConversationDraft(label: "Empty"))
            try await ada.conversations.leave(empty.token)
            let direct = try await ada.conversations.create(ConversationDraft(members: ["bo"], type: "direct"))
            try await ada.say("between us", in: direct.token)
            try await bo.conversations.block("never seen")
            let devices = Devices(database: scene.service.database.pool, events: .none, now: { Date() })
            _ = try await devices.signIn(
                by: Identity(user: ada.id, session: "s", device: "phone", expires: Date().addingTimeInterval(60))
            )
            let kept = try await scene.ann.say("of another application", in: scene.token)

            let deleted = ApplicationDeleted(
                applicationId: "acme",
                departure: Wire.Departure(id: UUID(), round: 1)
            )
            let event = Event(
                id: UUID(),
                type: ApplicationDeleted.type,
                at: Date(),
                content: try WireJSON.decoder().decode(JSONValue.self, from: try WireJSON.encoder().encode(deleted))
            )
            let body = try WireJSON.encoder().encode(event)
            let auth = try scene.service.neighbour("auth", callee: "conversations")
            _ = try await auth.send(.post, "/internal/events", body: body)

            let pool = scene.service.database.pool
            try await eventually {
                try await pool.first("SELECT FROM erasures", as: { _ in true }) == nil
            }
            for table in ["conversations", "members", "users", "devices", "blocks", "directs", "deletions"] {
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
            #expect(try await scene.ann.conversations.messages(scene.token).first?.id == kept.id)
            #expect(try await ada.conversations.list().things.isEmpty)
            // No other service may have an application deleted.
            let photos = try scene.service.neighbour("photos", callee: "conversations")
            await #expect(throws: APIError.self) { _ = try await photos.post("/internal/events", event, as: Done.self) }
        }
    }

    @Test func whoCannotBeTakenOutKeepsNobodyElseFromGoing() async throws {
        try await withConversation { scene in
            let (stuck, leaver) = (try await scene.person("stuck-4b1c"), try await scene.person("leaver-9d2e"))
            for person in [stuck, leaver] {
                _ = try await scene.ann.ask(.put, "/conversations/\(scene.token)/members/\(person.id.user)")
                try await person.say("I was here", in: scene.token)
            }
            let pool = scene.service.database.pool
            try await pool.run(
                """
                ALTER TABLE messages ADD CONSTRAINT test CHECK (sender_id IS NOT NULL OR data <> 'I stay') NOT VALID
                """
            )
            try await stuck.say("I stay", in: scene.token)

            try await delete(stuck.id, in: scene)
            try await delete(leaver.id, in: scene)
            try await eventually {
                try await pool.all("SELECT user_id FROM departures", as: { try $0.string("user_id") }) == [
                    stuck.id.user
                ]
            }
            #expect(try await finds(leaver.id.user, in: scene) == [])

            try await pool.run("ALTER TABLE messages DROP CONSTRAINT test")
            try await isDone(scene)
            #expect(try await finds(stuck.id.user, in: scene) == [])
        }
    }

    @Test func whoCameAndWentWithoutAWordIsNamedNoMore() async throws {
        try await withConversation { scene in
            let leaver = try await scene.person("leaver-8c3f")
            _ = try await scene.ann.ask(.put, "/conversations/\(scene.token)/members/\(leaver.id.user)")
            _ = try await leaver.conversations.leave(scene.token)

            try await delete(leaver.id, in: scene)
            try await isDone(scene)
            let found = try await finds(leaver.id.user, in: scene)
            #expect(found == [])
        }
    }

    @Test func whoWasOnlyNamedIsNamedNoMore() async throws {
        try await withConversation { scene in
            let leaver = try await scene.person("leaver-2a7b")
            // As many as may be named, and so long that they just fit.
            var names = [leaver.id.user] + (0..<999).map { "\($0)-" + String(repeating: "x", count: 57) }
            while (try? DraftRules.whiteListSize(names + ["x"])) != nil { names[1] += "x" }
            let event = try SystemEvent.whiteListUpdated(names).data()
            // Named, and then no more, and never here himself.
            for user in [leaver.id.user, "bob"] {
                let body = #"{"whiteList": ["\#(user)"]}"#
                let answer = try await scene.ann.ask(.put, "/conversations/\(scene.token)/whiteList", body)
                #expect(answer.status == 200)
            }
            let changed = try await scene.service.database.pool.run(
                "UPDATE messages SET data = \(event) WHERE data LIKE \("%\(leaver.id.user)%")"
            )
            #expect(changed == 1)
            try await delete(leaver.id, in: scene)
            try await isDone(scene)
            let found = try await finds(leaver.id.user, in: scene)
            #expect(found == [])
        }
    }

    @Test func whatHeSaidStaysWithoutHisName() async throws {
        try await withConversation { scene in
            let leaver = try await scene.person("leaver-7f3a")
            _ = try await scene.ann.ask(.put, "/conversations/\(scene.token)/members/\(leaver.id.user)")
            let said = try await leaver.say("I was here", in: scene.token)
            let answer = try await scene.ann.say("so you were", in: scene.token)
            try await leaver.conversations.react("👍", to: answer.id, in: scene.token)
            try await scene.ann.conversations.react("👋", to: answer.id, in: scene.token)
            let own = try await leaver.conversations.create(ConversationDraft(label: "His own", members: ["bob"]))
            let direct = try await leaver.conversations.create(ConversationDraft(members: ["ann"], type: "direct"))
            try await leaver.say("between us", in: direct.token)
            let former = try await scene.ann.conversations.create(
                ConversationDraft(label: "Former", members: [leaver.id.user], whiteList: .only([leaver.id.user]))
            )
            try await leaver.say("I go", in: former.token)
            try await leaver.conversations.leave(former.token)
            try await scene.ann.conversations.block(leaver.id.user)
            try await leaver.conversations.block("bob")
            let devices = Devices(database: scene.service.database.pool, events: .none, now: { Date() })
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

            try await delete(leaver.id, in: scene)
            try await isDone(scene)

            #expect(try await finds("leaver-7f3a", in: scene) == [])
            let history = try await scene.ann.conversations.messages(scene.token)
            let kept = try #require(history.first { $0.seq == said.seq })
            #expect(kept.data == "I was here" && kept.senderUser == nil && kept.deletedAt == nil)
            #expect(history.first { $0.seq == answer.seq }?.reactions == ["👋": ["ann"]])
            #expect(history.first?.data == #"{"type":"user.left","userId":""}"#)
            let left = try await scene.ann.conversations.conversation(scene.token)
            #expect(left.members == ["ann", "bob"])
            // Who is left decides, and nobody is the creator any more.
            #expect(try await scene.bob.conversations.conversation(own.token).admins == ["bob"])
            #expect(try await scene.ann.conversations.messages(direct.token).map(\.data) == ["between us"])
            #expect(try await scene.ann.conversations.blocks().things.isEmpty)
            #expect(try await scene.ann.conversations.messages(former.token).last { $0.senderUser == nil } != nil)
            #expect(try await leaver.ask(.get, "/conversations/\(scene.token)").status == 404)
        }
    }

    /// What others are in stays; what nobody is in was his alone.
    @Test func conversationsThatNobodyElseIsInGo() async throws {
        try await withConversation { scene in
            let leaver = try await scene.person("leaver-7f3a")
            let alone = try await leaver.conversations.create(ConversationDraft(label: "Diary"))
            try await leaver.say("dear diary", in: alone.token)

            try await delete(leaver.id, in: scene)
            try await isDone(scene)

            try await eventually { try await finds("dear diary", in: scene).isEmpty }
            #expect(try await finds("leaver-7f3a", in: scene) == [])
            #expect(try await finds("Diary", in: scene) == [])
        }
    }

    /// What a service is asked about is answered once his name is nowhere any more.
    @Test func theAnswerWaitsUntilHeIsGone() async throws {
        try await withConversation { scene in
            let leaver = try await scene.person("leaver-7f3a")
            _ = try await scene.ann.ask(.put, "/conversations/\(scene.token)/members/\(leaver.id.user)")
            try await leaver.say("I was here", in: scene.token)
            // As if he came once more afterwards, by a request that was under way.
            let pool = scene.service.database.pool
            try await pool.run("UPDATE arrivals SET arrived_at = clock_timestamp() + interval '1 hour'")
            let departure = Wire.Departure(id: UUID(), round: 1)
            let id = departure.id.uuidString.lowercased()

            try await delete(leaver.id, in: scene, departure: departure)

            try await isDone(scene)
            #expect(try await finds(id, in: scene) == ["erasures"])
            // It is named for those instances that did not hear of it; the answer waits for that too.
            try await pool.run("DELETE FROM arrivals")
            try await eventually { try await finds(id, in: scene).isEmpty }
            #expect(try await finds("leaver-7f3a", in: scene) == [])
        }
    }

    @Test func whoComesByTheSameNameLaterIsSomebodyElse() async throws {
        try await withConversation { scene in
            try await scene.bob.say("the former", in: scene.token)
            let direct = try await scene.ann.conversations.create(ConversationDraft(members: ["bob"], type: "direct"))

            try await delete(scene.bob.id, in: scene, at: Date())
            try await isDone(scene)
            let again = try await scene.ann.conversations.create(ConversationDraft(members: ["bob"], type: "direct"))
            try await scene.bob.say("the new one", in: again.token)

            #expect(again.id != direct.id)
            #expect(try await scene.bob.conversations.list().things.map(\.id) == [again.id])
            // The old one's end is told once more, as events may be: it says nothing of whoever came since.
            try await delete(scene.bob.id, in: scene, at: Date().addingTimeInterval(-60))
            try await isDone(scene)
            let said = try await scene.ann.conversations.messages(again.token)
            #expect(said.first { $0.data == "the new one" }?.senderUser?.serial == "bob")
        }
    }

    @Test func anEventThatComesAgainDoesNothing() async throws {
        try await withConversation { scene in
            let id = UUID()
            try await delete(scene.bob.id, in: scene, id: id)
            try await isDone(scene)
            try await scene.bob.conversations.join(scene.token)
            try await delete(scene.bob.id, in: scene, id: id)
            try await isDone(scene)
            #expect(try await scene.ann.conversations.conversation(scene.token).members == ["ann", "bob"])
            // Nobody's name is nobody's loss.
            try await delete(User.ID(application: "other", user: "never seen"), in: scene)
            try await isDone(scene)
        }
    }

    @Test func anotherApplicationsManOfTheSameNameStays() async throws {
        try await withConversation { scene in
            let other = try await scene.person(scene.bob.id.user, application: "roost")
            try await scene.bob.say("mine", in: scene.token)
            try await delete(other.id, in: scene)
            try await isDone(scene)
            let history = try await scene.ann.conversations.messages(scene.token)
            #expect(history.first?.senderUser?.serial == "bob")
        }
    }
}
