import Foundation
import HTTPTypes
import ServiceClient
import SocialAPI
import TestSupport
import Testing
import Wire

@testable import SocialServer

@Suite("Data export") struct ExportTests {
    @Test("An export contains accounts, posts, changes and files, but no secrets or refresh tokens")
    func contents() async throws {
        try await withSocial { fixture in
            let body =
                #"{"access_token": "tokenish", "access_token_secret": "secretish", "refresh_token": "refreshing"}"#
            for person in [fixture.ann, fixture.bob] { _ = try await person.ask(.put, "/networks/twitter", body) }
            let at = Timestamp.string(from: fixture.clock.read().addingTimeInterval(3_600))
            let added = try await fixture.schedulePicture("for later", after: 3_600)
            let id = try #require(added.json["id"].string, "\(added.text)")

            let auth = try fixture.service.peerClient("auth", callee: "social")
            let files = try await ExportedFiles(of: fixture.ann.id, from: auth)

            #expect(files.names == ["networks.json", "posts.json", "changes.json", "files/\(id.lowercased())-photo"])
            #expect(files.json("networks.json").array.map { $0["network"].string } == ["twitter"])
            let post = files.json("posts.json")[0]
            #expect(post["id"].string == id.lowercased())
            #expect(post["isDone"].bool == false)
            #expect(post["at"].string == at)
            #expect(files.text("posts.json")?.contains("for later") == true)
            #expect(files.contents["files/\(id.lowercased())-photo"] == Data(SocialFixture.picture))
            // The access token itself is not checked, because the memory network makes the account id of it.
            #expect(!files.text.contains("secretish"))
            #expect(!files.text.contains("refreshing"))
            let others = try await ExportedFiles(of: fixture.bob.id, from: auth)
            #expect(others.json("posts.json") == .array([]))
        }
    }

    @Test("An export after account deletion is empty")
    func deletedUser() async throws {
        try await withSocial { fixture in
            try await fixture.ann.link(.twitter, "ann")
            let auth = try fixture.service.peerClient("auth", callee: "social")
            let deleted: [String: JSONValue] = [
                "applicationId": .string(SocialFixture.application), "userId": .string("ann"),
                "deletionJob": .object(["id": .string(UUID().uuidString), "round": .integer(1)]),
            ]
            let event = Event(id: UUID(), type: "user.deleted", at: Date(), content: .object(deleted))
            _ = try await auth.send(.post, "/internal/events", body: try WireJSON.encoder().encode(event))

            try await eventually { try await fixture.rows("SELECT user_id AS row FROM unconfirmed_deletions").isEmpty }
            let traces = try await LeftoverData.inTables(containing: ["ann"], fixture.service.database.pool)
            #expect(traces == [])
            let files = try await ExportedFiles(of: fixture.ann.id, from: auth)
            #expect(files.names.allSatisfy { files.json($0) == .array([]) })
        }
    }
}
