import Foundation
import HTTPTypes
import PhotosAPI
import TestSupport
import Testing
import Wire

@Suite("Profiles of many users") struct PeopleListTests {
    @Test("Profiles are in the order of the ids, each once, by one lookup")
    func order() async throws {
        try await withPhotos { fixture in
            let ann = try await fixture.account("Ann")
            let bob = try await fixture.account("Bob Dylan")
            let cleo = try await fixture.account("Cleo")
            for testUser in [ann, cleo] { _ = try await testUser.photos.me() }
            let unknownUser = UUID().uuidString.lowercased()
            let before = fixture.auth.lookups.value

            let ids = [cleo, bob, ann].map(\.id.user)
            let found = try await ann.photos.people([ids[0], ids[1].uppercased(), unknownUser, "x", ids[2], ids[0]])

            #expect(found.map(\.userId) == ids)
            #expect(found.map(\.fullName) == ["Cleo", "Bob Dylan", "Ann"])
            #expect(fixture.auth.lookups.value == before + 1)
            #expect(try await ann.photos.profile(of: ids[0]) == found[0])
        }
    }

    @Test("Users of a customer's application are listed before they use photos")
    func customers() async throws {
        try await withPhotos { fixture in
            try await fixture.createProfiles(fixture.ann, fixture.bob)
            fixture.auth.customers.change { $0.insert("zoë d") }

            let found = try await fixture.ann.photos.people(["zoë d", "bob", "nobody"])
            #expect(found.map(\.userId) == ["zoë d", "bob"])
            #expect(found.map(\.fullName) == ["", "bob"])
            #expect(try await fixture.ann.photos.profile(of: "zoë d") == found[0])
            #expect(try await fixture.ann.ask(.get, "/photos/people/nobody").problem?.code == "user_not_found")
            #expect(try await fixture.rows("SELECT user_id AS row FROM people WHERE user_id LIKE 'zo%'").isEmpty)
            #expect(try await fixture.ann.photos.follow("zoë d").isFollowing)
        }
    }

    @Test("Users with a block in between are left out, also before they use photos")
    func blocks() async throws {
        try await withPhotos { fixture in
            try await fixture.createProfiles(fixture.ann, fixture.bob, fixture.eve)
            try await fixture.set(blocked: true, fixture.ann, by: fixture.bob)
            let zoe = try await fixture.testUser("zoe")
            fixture.auth.customers.change { $0.insert("zoe") }
            try await fixture.set(blocked: true, fixture.ann, by: zoe)

            #expect(try await fixture.ann.photos.people(["bob", "zoe", "eve"]).map(\.userId) == ["eve"])
            #expect(try await fixture.ann.ask(.get, "/photos/people/zoe").status == 404)
            #expect(try await fixture.eve.photos.people(["bob", "zoe"]).map(\.userId) == ["bob", "zoe"])
        }
    }

    @Test("Users of another application are unknown")
    func otherApplication() async throws {
        try await withPhotos { fixture in
            let roosts = try await fixture.account("Ann Roost")
            _ = try await roosts.photos.me()
            try await fixture.createProfiles(fixture.bob)
            #expect(try await roosts.photos.people(["bob", "ann"]).isEmpty)
        }
    }

    @Test("While auth is unavailable, known users are listed and unknown ones respond 503")
    func away() async throws {
        try await withPhotos { fixture in
            try await fixture.createProfiles(fixture.ann, fixture.bob)
            fixture.auth.isUnavailable.change { $0 = true }
            #expect(try await fixture.ann.photos.people(["bob"]).count == 1)
            #expect(try await fixture.ann.ask(.get, "/photos/people?userId=bob&userId=zoe").status == 503)
        }
    }

    @Test(
        "A request without exactly one of a query and user ids is rejected",
        arguments: [
            ("", "missing_field", "query"), ("?query=ann&userId=ann", "conflicting_parameters", "userId"),
            ("?userId=", "missing_field", "userId"), ("?userId=a%00b", "nul_character", "userId"),
            ("?\((0...100).map { "userId=u\($0)" }.joined(separator: "&"))", "too_many", "userId"),
        ]
    )
    func invalidQuery(query: String, code: String, field: String) async throws {
        try await withPhotos { fixture in
            let response = try await fixture.ann.ask(.get, "/photos/people\(query)")
            #expect(response.status == 400)
            #expect(response.problem?.code == code)
            #expect(response.problem?.field == field)
        }
    }

    @Test("A hundred ids are looked up in one request")
    func hundred() async throws {
        try await withPhotos { fixture in
            fixture.auth.customers.change { $0 = Set((0..<100).map { "u\($0)" }) }
            let ids = (0..<100).map { "u\($0)" }
            let found = try await fixture.ann.photos.people(ids)
            #expect(found.map(\.userId) == ids)
        }
    }
}
