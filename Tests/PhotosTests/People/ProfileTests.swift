import Foundation
import HTTPTypes
import PhotosAPI
import TestSupport
import Testing
import Wire

@Suite("Profiles") struct ProfileTests {
    @Test("The first request creates a profile, and an unseen user of an application is unknown")
    func firstVisit() async throws {
        try await withPhotos { fixture in
            #expect(try await fixture.ann.photos.me() == Profile(userId: "ann", fullName: "ann"))
            #expect(try await fixture.bob.photos.profile(of: "ann") == Profile(userId: "ann", fullName: "ann"))
            let roosts = try await fixture.account("Maria Lopez")
            #expect(try await roosts.photos.me().fullName == "Maria Lopez")
            // Users who have not used photos and users of another application are unknown.
            #expect(try await fixture.ann.ask(.get, "/photos/people/eve").problem?.code == "user_not_found")
            #expect(try await fixture.ann.ask(.get, "/photos/people/\(roosts.id.user)").status == 404)
        }
    }

    @Test("A user of Roost has a profile before the first request to photos")
    func unvisitedAccount() async throws {
        try await withPhotos { fixture in
            let (ann, bob) = (try await fixture.account("Ann"), try await fixture.account("Bob Dylan"))

            let seen = try await ann.photos.profile(of: bob.id.user.uppercased())

            #expect(seen == Profile(userId: bob.id.user, fullName: "Bob Dylan"))
            #expect(try await ann.photos.people(matching: "dyl") == [seen])
            let unknownUser = UUID().uuidString.lowercased()
            #expect(try await ann.ask(.get, "/photos/people/\(unknownUser)").status == 404)
            #expect(try await ann.ask(.get, "/photos/people/bob").status == 404)
        }
    }

    @Test("While auth is unavailable, known users have a profile and new users get 503")
    func authUnavailable() async throws {
        try await withPhotos { fixture in
            let (ann, bob) = (try await fixture.account("Ann"), try await fixture.account("Bob"))
            _ = try await ann.photos.me()
            fixture.auth.isUnavailable.change { $0 = true }

            #expect(try await ann.photos.me().fullName == "Ann")
            #expect(try await bob.ask(.get, "/photos/me").status == 503)
            fixture.auth.isUnavailable.change { $0 = false }
            #expect(try await bob.photos.me().fullName == "Bob")
        }
    }

    @Test("An update changes only the fields that are sent, and the search with the name")
    func partialUpdate() async throws {
        try await withPhotos { fixture in
            let ann = fixture.ann.photos
            try await ann.update(ProfileChanges(fullName: "Ann Lee", bio: .set("line one\nline two")))
            let changed = try await ann.update(ProfileChanges(bio: .set("Paints.")))

            #expect(changed == Profile(userId: "ann", fullName: "Ann Lee", bio: "Paints."))
            #expect(try await fixture.bob.photos.profile(of: "ann") == changed)
            #expect(try await ann.update(ProfileChanges()) == changed)
            #expect(try await ann.update(ProfileChanges(bio: .cleared)).bio.isEmpty)
            #expect(try await fixture.bob.photos.people(matching: "lee").map(\.userId) == ["ann"])
            try await ann.update(ProfileChanges(fullName: "Ann Chovy"))
            #expect(try await fixture.bob.photos.people(matching: "lee").isEmpty)
            #expect(try await fixture.bob.photos.people(matching: "chovy").map(\.fullName) == ["Ann Chovy"])
        }
    }

    @Test(
        "An invalid field is rejected by name and changes nothing",
        arguments: [
            (#"{"fullName": null}"#, "fullName"), (#"{"fullName": ""}"#, "fullName"), (#"{"fullName": 7}"#, "fullName"),
            (#"{"fullName": "  "}"#, "fullName"), (#"{"fullName": "a\u0007"}"#, "fullName"),
            (#"{"fullName": "\#(String(repeating: "x", count: 101))"}"#, "fullName"),
            (#"{"bio": ["x"]}"#, "bio"), (#"{"bio": "\#(String(repeating: "x", count: 501))"}"#, "bio"),
            (#"{"bio": "\u202Eevil"}"#, "bio"), (#"{"profilePicture": 1}"#, "profilePicture"),
            (#"{"bio": "good", "fullName": ""}"#, "fullName"),
        ]
    )
    func invalidFields(body: String, field: String) async throws {
        try await withPhotos { fixture in
            let before = try await fixture.ann.photos.me()
            let response = try await fixture.ann.ask(.patch, "/photos/me", body)

            #expect(response.status == 400, "\(response.text)")
            #expect(response.problem?.field == field, "\(response.text)")
            #expect(try await fixture.ann.photos.me() == before)
        }
    }

    @Test("An upload of another user as picture is rejected and changes nothing")
    func foreignPicture() async throws {
        try await withPhotos { fixture in
            let body = #"{"fullName": "Other", "profilePicture": "\#(UUID().uuidString.lowercased())"}"#
            let response = try await fixture.ann.ask(.patch, "/photos/me", body)

            #expect(response.status == 404, "\(response.text)")
            #expect(try await fixture.ann.photos.me() == Profile(userId: "ann", fullName: "ann"))
        }
    }

    @Test("A missing picture is null, and an empty biography is empty")
    func nulls() async throws {
        try await withPhotos { fixture in
            guard case .object(let profile) = try await fixture.ann.ask(.get, "/photos/me").json else {
                Issue.record("a profile is an object")
                return
            }
            #expect(profile["profilePicture"] == .null)
            #expect(profile["bio"] == .string(""))
        }
    }

    @Test("Eight concurrent first requests create one profile")
    func concurrentFirstVisits() async throws {
        try await withPhotos { fixture in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<8 { group.addTask { _ = try await fixture.ann.photos.me() } }
                try await group.waitForAll()
            }
            #expect(try await fixture.rows("SELECT user_id AS row FROM people") == ["ann"])
            #expect(try await fixture.rows("SELECT name AS row FROM people_names") == ["ann"])
        }
    }
}
