import AuthAPI
import Foundation
import HTTPTypes
import ServiceClient
import ServiceHost
import SocialAPI
import TestSupport
import Testing
import Wire

@testable import SocialServer

@Suite("Account deletion") struct AccountDeletionTests {
    @Test("A deleted user leaves no rows, and other users keep theirs")
    func userDeleted() async throws {
        try await withSocial { fixture in
            for person in [fixture.ann, fixture.bob] {
                let name = person.id.user
                try await person.link(.twitter, name)
                try await person.link(.facebook, name)
                let key: HTTPFields = [.idempotencyKey: "1"]
                _ = try await person.ask(.post, "/feed", #"{"data": {"text": "of \#(name)"}}"#, headers: key)
                let at = Timestamp.string(from: fixture.clock.read().addingTimeInterval(3_600))
                let later = Form(data: #"{"at": "\#(at)", "networks": ["twitter"]}"#, photo: [0xFF, 0xD8, 0xFF, 0xE0])
                let kept = try await person.ask(.post, "/feed/schedule", later.body, headers: later.headers)
                #expect(kept.status == 200, "\(kept.text)")
                let reply = #"{"data": {"network": "twitter", "thread": "1", "text": "of \#(name)"}}"#
                _ = try await person.ask(.post, "/messages", reply)
                _ = try await fixture.service.call("/webhooks/facebook", "id of \(name) created \(name)s 7")
            }
            let before = try await fixture.rowsOfUser("bob")

            try await fixture.publish(UserDeleted(applicationId: SocialFixture.application, userId: "ann"))

            #expect(try await fixture.rowsOfUser("ann") == [])
            #expect(try await fixture.rowsOfUser("bob") == before)
            #expect(before.count == 6, "\(before)")
            let files = try await fixture.rows("SELECT count(*)::text AS row FROM post_media")
            #expect(files == ["1"])
            #expect(try await fixture.ann.ask(.get, "/feed/scheduled").json["scheduled"].array.isEmpty)
        }
    }
}

extension AccountDeletionTests {
    @Test("A deleted application leaves no rows")
    func application() async throws {
        try await withSocial { fixture in
            for person in [fixture.ann, fixture.bob] {
                let name = person.id.user
                try await person.link(.twitter, name)
                try await person.link(.facebook, name)
                let key: HTTPFields = [.idempotencyKey: "1"]
                _ = try await person.ask(.post, "/feed", #"{"data": {"text": "of \#(name)"}}"#, headers: key)
                _ = try await fixture.service.call("/webhooks/facebook", "id of \(name) created \(name)s 7")
            }
            #expect(try await fixture.rowsOfUser("ann").count > 1)

            try await fixture.publish(
                ApplicationDeleted(
                    applicationId: SocialFixture.application,
                    deletionJob: DeletionJob(id: UUID(), round: 1)
                )
            )

            try await eventually { try await fixture.rows("SELECT 'x' AS row FROM unconfirmed_deletions") == [] }
            #expect(try await fixture.rowsOfUser("ann") == [])
            #expect(try await fixture.rowsOfUser("bob") == [])
        }
    }
}

extension SocialFixture {
    /// Returns the tables with rows of a user, and their counts.
    fileprivate func rowsOfUser(_ user: String) async throws -> [String] {
        let tables = try await rows(
            """
            SELECT table_name AS row FROM information_schema.columns
            WHERE column_name = 'user_id' AND table_schema = current_schema() ORDER BY 1
            """
        )
        var found: [String] = []
        for table in tables {
            let named = "FROM \(table) WHERE user_id = '\(user)'"
            found += try await rows("SELECT '\(table) ' || count(*) AS row \(named) HAVING count(*) > 0")
        }
        return found
    }

    fileprivate func publish(_ content: some EventContent) async throws {
        let json = try WireJSON.encoder().encode(content)
        let event = Event(
            id: UUID(),
            type: type(of: content).type,
            at: Date(),
            content: try WireJSON.decoder().decode(JSONValue.self, from: json)
        )
        let auth = try service.peerClient("auth", callee: "social")
        _ = try await auth.send(.post, "/internal/events", body: try WireJSON.encoder().encode(event))
    }
}
