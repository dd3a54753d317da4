import Foundation
import HTTPTypes
import PhotosAPI
import TestSupport
import Testing
import Wire

@Suite("Profiles of many users") struct PeopleListTests {
    @Test("Profiles are in the order of the ids, each once, by one lookup")
    func order() async throws {
        try await withPhotos { scene in
            let ann = try await scene.account("Ann")
            let bob = try await scene.account("Bob Dylan")
            let cleo = try await scene.account("Cleo")
            for player in [ann, cleo] { _ = try await player.photos.me() }
            let nobody = UUID().uuidString.lowercased()
            let before = scene.auth.lookups.value

            let ids = [cleo, bob, ann].map(\.id.user)
            let found = try await ann.photos.people([ids[0], ids[1].uppercased(), nobody, "x", ids[2], ids[0]])

            #expect(found.map(\.userId) == ids)
            #expect(found.map(\.fullName) == ["Cleo", "Bob Dylan", "Ann"])
            #expect(scene.auth.lookups.value == before + 1)
            #expect(try await ann.photos.profile(of: ids[0]) == found[0])
        }
    }

    @Test("Users of a customer's application are there before they come to photos")
    func customers() async throws {
        try await withPhotos { scene in
            try await scene.introduce(scene.ann, scene.bob)
            scene.auth.customers.change { $0.insert("zoë d") }

            let found = try await scene.ann.photos.people(["zoë d", "bob", "nobody"])
            #expect(found.map(\.userId) == ["zoë d", "bob"])
            #expect(found.map(\.fullName) == ["", "bob"])
            #expect(try await scene.ann.photos.profile(of: "zoë d") == found[0])
            #expect(try await scene.ann.ask(.get, "/photos/people/nobody").problem?.code == "user_not_found")
            #expect(try await scene.rows("SELECT user_id AS row FROM people WHERE user_id LIKE 'zo%'").isEmpty)
            #expect(try await scene.ann.photos.follow("zoë d").isFollowing)
        }
    }

    @Test("Users whom a block keeps apart are left out, also before they come")
    func blocks() async throws {
        try await withPhotos { scene in
            try await scene.introduce(scene.ann, scene.bob, scene.eve)
            try await scene.set(blocked: true, scene.ann, by: scene.bob)
            let zoe = try await scene.player("zoe")
            scene.auth.customers.change { $0.insert("zoe") }
            try await scene.set(blocked: true, scene.ann, by: zoe)

            #expect(try await scene.ann.photos.people(["bob", "zoe", "eve"]).map(\.userId) == ["eve"])
            #expect(try await scene.ann.ask(.get, "/photos/people/zoe").status == 404)
            #expect(try await scene.eve.photos.people(["bob", "zoe"]).map(\.userId) == ["bob", "zoe"])
        }
    }

    @Test("Users of another application are unknown")
    func otherApplication() async throws {
        try await withPhotos { scene in
            let roosts = try await scene.account("Ann Roost")
            _ = try await roosts.photos.me()
            try await scene.introduce(scene.bob)
            #expect(try await roosts.photos.people(["bob", "ann"]).isEmpty)
        }
    }

    @Test("While auth does not answer, known users are listed and others are not called unknown")
    func away() async throws {
        try await withPhotos { scene in
            try await scene.introduce(scene.ann, scene.bob)
            scene.auth.isAway.change { $0 = true }
            #expect(try await scene.ann.photos.people(["bob"]).count == 1)
            #expect(try await scene.ann.ask(.get, "/photos/people?userId=bob&userId=zoe").status == 503)
        }
    }

    @Test(
        "Either a query or user ids are sent",
        arguments: [
            ("", "missing_field", "query"), ("?query=ann&userId=ann", "conflicting_parameters", "userId"),
            ("?userId=", "missing_field", "userId"), ("?userId=a%00b", "nul_character", "userId"),
            ("?\((0...100).map { "userId=u\($0)" }.joined(separator: "&"))", "too_many", "userId"),
        ]
    )
    func refused(query: String, code: String, field: String) async throws {
        try await withPhotos { scene in
            let answer = try await scene.ann.ask(.get, "/photos/people\(query)")
            #expect(answer.status == 400)
            #expect(answer.problem?.code == code)
            #expect(answer.problem?.field == field)
        }
    }

    @Test("A hundred ids are answered in one request")
    func hundred() async throws {
        try await withPhotos { scene in
            scene.auth.customers.change { $0 = Set((0..<100).map { "u\($0)" }) }
            let ids = (0..<100).map { "u\($0)" }
            let found = try await scene.ann.photos.people(ids)
            #expect(found.map(\.userId) == ids)
        }
    }
}
