import Foundation
import HTTPTypes
import PhotosAPI
import TestSupport
import Testing
import Wire

/// What people say of themselves, and others get to see.
@Suite struct ProfileTests {
    @Test func whoComesIsThereUnderHisName() async throws {
        try await withPhotos { scene in
            #expect(try await scene.ann.photos.me() == Profile(userId: "ann", fullName: "ann"))
            #expect(try await scene.bob.photos.profile(of: "ann") == Profile(userId: "ann", fullName: "ann"))
            let roosts = try await scene.account("Maria Lopez")
            #expect(try await roosts.photos.me().fullName == "Maria Lopez")
            // To everybody else nobody has been there.
            #expect(try await scene.ann.ask(.get, "/photos/people/eve").problem?.code == "user_not_found")
            #expect(try await scene.ann.ask(.get, "/photos/people/\(roosts.id.user)").status == 404)
        }
    }

    @Test func anAccountThatHasNotComeYetIsSeen() async throws {
        try await withPhotos { scene in
            let (ann, bob) = (try await scene.account("Ann"), try await scene.account("Bob Dylan"))

            let seen = try await ann.photos.profile(of: bob.id.user.uppercased())

            #expect(seen == Profile(userId: bob.id.user, fullName: "Bob Dylan"))
            #expect(try await ann.photos.people(found: "dyl") == [seen])
            let nobody = UUID().uuidString.lowercased()
            #expect(try await ann.ask(.get, "/photos/people/\(nobody)").status == 404)
            #expect(try await ann.ask(.get, "/photos/people/bob").status == 404)
        }
    }

    @Test func whileAuthIsAwayThoseWhoAreKnownGoOn() async throws {
        try await withPhotos { scene in
            let (ann, bob) = (try await scene.account("Ann"), try await scene.account("Bob"))
            _ = try await ann.photos.me()
            scene.auth.isAway.change { $0 = true }

            #expect(try await ann.photos.me().fullName == "Ann")
            #expect(try await bob.ask(.get, "/photos/me").status == 503)
            scene.auth.isAway.change { $0 = false }
            #expect(try await bob.photos.me().fullName == "Bob")
        }
    }

    @Test func onlyWhatIsNamedChangesAndEverywhereAtOnce() async throws {
        try await withPhotos { scene in
            let ann = scene.ann.photos
            try await ann.change(ProfileChanges(fullName: "Ann Lee", bio: .set("line one\nline two")))
            let changed = try await ann.change(ProfileChanges(bio: .set("Paints.")))

            #expect(changed == Profile(userId: "ann", fullName: "Ann Lee", bio: "Paints."))
            #expect(try await scene.bob.photos.profile(of: "ann") == changed)
            #expect(try await ann.change(ProfileChanges()) == changed)
            #expect(try await ann.change(ProfileChanges(bio: .cleared)).bio.isEmpty)
            #expect(try await scene.bob.photos.people(found: "lee").map(\.userId) == ["ann"])
            try await ann.change(ProfileChanges(fullName: "Ann Chovy"))
            #expect(try await scene.bob.photos.people(found: "lee").isEmpty)
            #expect(try await scene.bob.photos.people(found: "chovy").map(\.fullName) == ["Ann Chovy"])
        }
    }

    @Test(arguments: [
        (#"{"fullName": null}"#, "fullName"), (#"{"fullName": ""}"#, "fullName"), (#"{"fullName": 7}"#, "fullName"),
        (#"{"fullName": "  "}"#, "fullName"), (#"{"fullName": "a\u0007"}"#, "fullName"),
        (#"{"fullName": "\#(String(repeating: "x", count: 101))"}"#, "fullName"),
        (#"{"bio": ["x"]}"#, "bio"), (#"{"bio": "\#(String(repeating: "x", count: 501))"}"#, "bio"),
        (#"{"bio": "\u202Eevil"}"#, "bio"), (#"{"profilePicture": 1}"#, "profilePicture"),
        (#"{"bio": "good", "fullName": ""}"#, "fullName"),
    ])
    func whatMakesNoSenseIsRefusedByName(body: String, field: String) async throws {
        try await withPhotos { scene in
            let before = try await scene.ann.photos.me()
            let answer = try await scene.ann.ask(.patch, "/photos/me", body)

            #expect(answer.status == 400 && answer.problem?.field == field, "\(answer.text)")
            #expect(try await scene.ann.photos.me() == before)
        }
    }

    @Test func aPictureThatIsNoneOfOnesOwnChangesNothing() async throws {
        try await withPhotos { scene in
            let body = #"{"fullName": "Other", "profilePicture": "\#(UUID().uuidString.lowercased())"}"#
            let answer = try await scene.ann.ask(.patch, "/photos/me", body)

            #expect(answer.status == 404, "\(answer.text)")
            #expect(try await scene.ann.photos.me() == Profile(userId: "ann", fullName: "ann"))
        }
    }

    @Test func absentValuesAreNullWhereClientsLookForThem() async throws {
        try await withPhotos { scene in
            guard case .object(let profile) = try await scene.ann.ask(.get, "/photos/me").json else {
                Issue.record("a profile is an object")
                return
            }
            #expect(profile["profilePicture"] == .null && profile["bio"] == .string(""))
        }
    }

    @Test func peopleWhoComeAtOnceAreThereOnce() async throws {
        try await withPhotos { scene in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<8 { group.addTask { _ = try await scene.ann.photos.me() } }
                try await group.waitForAll()
            }
            #expect(try await scene.rows("SELECT user_id AS row FROM people") == ["ann"])
            #expect(try await scene.rows("SELECT name AS row FROM people_names") == ["ann"])
        }
    }
}
