import Foundation
import HTTPTypes
import ServiceClient
import SocialAPI
import TestSupport
import Testing
import Wire

@testable import SocialServer

/// What social gives somebody of what it keeps of him.
@Suite struct ExportTests {
    @Test func itHasWhatIsLinkedAndPostedAndNoToken() async throws {
        try await withSocial { scene in
            let body =
                #"{"access_token": "tokenish", "access_token_secret": "secretish", "refresh_token": "refreshing"}"#
            for person in [scene.ann, scene.bob] { _ = try await person.ask(.put, "/networks/twitter", body) }
            let at = Timestamp.string(from: scene.clock.read().addingTimeInterval(3_600))
            let added = try await scene.schedulePicture("for later", after: 3_600)
            let id = try #require(added.json["id"].string, "\(added.text)")

            let auth = try scene.service.neighbour("auth", callee: "social")
            let files = try await ExportedFiles(of: scene.ann.id, from: auth)

            #expect(files.names == ["networks.json", "posts.json", "changes.json", "files/\(id.lowercased())-photo"])
            #expect(files.json("networks.json").array.map { $0["network"].string } == ["twitter"])
            let post = files.json("posts.json")[0]
            #expect(post["id"].string == id.lowercased() && post["isDone"].bool == false && post["at"].string == at)
            #expect(files.text("posts.json")?.contains("for later") == true)
            #expect(files.contents["files/\(id.lowercased())-photo"] == Data(Scene.picture))
            // The network's id of the account is made of the token here.
            #expect(!files.text.contains("secretish") && !files.text.contains("refreshing"))
            let others = try await ExportedFiles(of: scene.bob.id, from: auth)
            #expect(others.json("posts.json") == .array([]))
        }
    }

    @Test func ofWhoIsDeletedThereIsNothingLeftToGive() async throws {
        try await withSocial { scene in
            try await scene.ann.link(.twitter, "ann")
            let auth = try scene.service.neighbour("auth", callee: "social")
            let deleted: [String: JSONValue] = [
                "applicationId": .string(Scene.application), "userId": .string("ann"),
                "deletionJob": .object(["id": .string(UUID().uuidString), "round": .integer(1)]),
            ]
            let event = Event(id: UUID(), type: "user.deleted", at: Date(), content: .object(deleted))
            _ = try await auth.send(.post, "/internal/events", body: try WireJSON.encoder().encode(event))

            try await eventually { try await scene.rows("SELECT user_id AS row FROM erasures").isEmpty }
            let traces = try await Traces.inTables(naming: ["ann"], scene.service.database.pool)
            #expect(traces == [])
            let files = try await ExportedFiles(of: scene.ann.id, from: auth)
            #expect(files.names.allSatisfy { files.json($0) == .array([]) })
        }
    }
}
