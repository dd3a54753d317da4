import AuthAPI
import ConversationsAPI
import Foundation
import HTTPTypes
import PhotosAPI
import Postgres
import ServiceClient
import TestSupport
import Testing
import Wire

@Suite("Profiles of members") struct ProfileTests {
    /// Sends an event to the service as its publisher.
    private func publish<Content: EventContent>(
        _ content: Content,
        from publisher: String,
        at moment: Date = Date(),
        in fixture: ConversationFixture
    ) async throws {
        let event = Event(
            id: UUID(),
            type: Content.type,
            at: moment,
            content: try WireJSON.decoder().decode(JSONValue.self, from: try WireJSON.encoder().encode(content))
        )
        let client = try fixture.service.peerClient(publisher, callee: "conversations")
        _ = try await client.post("/internal/events", event, as: [String: Bool].self)
    }

    private func changed(_ user: String, _ name: String, _ avatar: String? = nil) -> ProfileChanged {
        ProfileChanged(applicationId: ConversationFixture.application, userId: user, fullName: name, avatarPath: avatar)
    }

    @Test("Every response contains the names and avatars of the members from events")
    func events() async throws {
        try await withConversation { fixture in
            let (ana, token) = (fixture.ana.conversations, fixture.token)
            #expect(fixture.conversation.profiles?["bo"] == .init(fullName: "bo"))
            try await publish(changed("bo", "Bo Dylan", "/media/photos/1.jpg"), from: "photos", in: fixture)

            let shown = try await ana.conversation(token).profiles
            #expect(shown?["ana"] == .init(fullName: "ana"))
            #expect(shown?["bo"]?.fullName == "Bo Dylan")
            #expect(shown?["bo"]?.avatarUrl?.hasSuffix("/media/photos/1.jpg") == true)
            #expect(shown?["bo"]?.avatarUrl?.hasPrefix("http") == true)
            #expect(try await ana.list().items.first?.profiles == shown)
            #expect(try await ana.setPush(false, in: token).profiles == shown)
            #expect(try await ana.create(.init(label: "x", members: ["bo"])).profiles == shown)
            #expect(try await ana.create(.init(members: ["bo"], type: "direct")).profiles == shown)
            #expect(try await fixture.eve.conversations.join(token).profiles?["bo"] == shown?["bo"])

            try await publish(changed("bo", "Bo Dylan"), from: "photos", in: fixture)
            #expect(try await ana.conversation(token).profiles?["bo"] == .init(fullName: "Bo Dylan"))
        }
    }

    @Test("An older name does not replace a newer one")
    func order() async throws {
        try await withConversation { fixture in
            let now = Date()
            try await publish(changed("bo", "New"), from: "photos", at: now, in: fixture)
            let old = UserChanged(
                applicationId: ConversationFixture.application,
                userId: "bo",
                username: "bo",
                fullName: "Old"
            )
            try await publish(old, from: "auth", at: now.addingTimeInterval(-60), in: fixture)
            #expect(try await fixture.ana.conversations.conversation(fixture.token).profiles?["bo"]?.fullName == "New")
            try await publish(old, from: "auth", at: now.addingTimeInterval(60), in: fixture)
            #expect(try await fixture.ana.conversations.conversation(fixture.token).profiles?["bo"]?.fullName == "Old")
        }
    }

    @Test("Auth is asked once for the names of accounts without a copy, and its failure fails no request")
    func backfill() async throws {
        try await withConversation { fixture in
            let (ana, bo) = (UUID().uuidString.lowercased(), UUID().uuidString.lowercased())
            fixture.auth.accounts.change { $0 = [ana, bo] }
            fixture.auth.names.change { $0 = [ana: "Ada Lovelace", bo: "Bo"] }
            let person = try await fixture.person(ana, application: RoostApplication.id)
            let made = try await person.conversations.create(.init(label: "x", members: [bo]))
            #expect(made.profiles?[ana]?.fullName == "Ada Lovelace")
            #expect(made.profiles?[bo]?.fullName == "Bo")

            // Auth's response has been stored.
            fixture.auth.isAway.change { $0 = true }
            #expect(try await person.conversations.conversation(made.token).profiles == made.profiles)
            try await fixture.service.database.pool.run("DELETE FROM profiles")
            #expect(try await person.conversations.conversation(made.token).profiles == [:])
        }
    }

    @Test("The profile of a deleted user is removed, and no older event brings it back")
    func deletion() async throws {
        try await withConversation { fixture in
            try await publish(changed("bo", "Bo Dylan"), from: "photos", in: fixture)
            try await publish(
                UserDeleted(applicationId: ConversationFixture.application, userId: "bo"),
                from: "auth",
                in: fixture
            )
            let late = changed("bo", "Bo Dylan", "/media/photos/1.jpg")
            try await publish(late, from: "photos", at: Date().addingTimeInterval(-60), in: fixture)

            let pool = fixture.service.database.pool
            try await eventually {
                try await pool.first("SELECT deletion_id FROM user_deletions", as: { _ in true }) == nil
            }
            let rows = try await pool.one("SELECT count(*) AS n FROM profiles", as: { try $0.int("n") })
            #expect(rows == 0)
        }
    }

    @Test("Only photos may publish the event of a changed profile")
    func publisher() async throws {
        try await withConversation { fixture in
            await #expect(throws: APIError.self) {
                try await publish(changed("bo", "Mallory"), from: "social", in: fixture)
            }
            let shown = try await fixture.ana.conversations.conversation(fixture.token)
            #expect(shown.profiles?["bo"]?.fullName == "bo")
        }
    }

    @Test("An unknown member is named in the error")
    func unknown() async throws {
        try await withConversation { fixture in
            let known = UUID().uuidString.lowercased()
            let unknown = UUID().uuidString.lowercased()
            fixture.auth.accounts.change { $0 = [known] }
            let person = try await fixture.person(known, application: RoostApplication.id)
            for name in [unknown, "bo"] {
                let body = #"{"label": "x", "members": ["\#(known)", "\#(name)"]}"#
                let answer = try await person.ask(.post, "/conversations/create", body)
                #expect(answer.status == 400)
                #expect(answer.problem?.code == "user_not_found")
                #expect(answer.problem?.field == "members")
                #expect(answer.problem?.detail == #""members" has a user that does not exist: "\#(name)""#)
            }
        }
    }
}
