import HTTPTypes
import PhotosAPI
import TestSupport
import Testing
import Wire

/// What a block of the suite's list does here.
@Suite struct BlockTests {
    @Test(arguments: [true, false])
    func itEndsBothFollowsAndHidesEachFromTheOther(annBlocks: Bool) async throws {
        try await withPhotos { scene in
            let (ann, bob) = (scene.ann, scene.bob)
            try await scene.introduce(ann, bob, scene.eve)
            try await ann.photos.follow("bob")
            try await bob.photos.follow("ann")
            try await scene.eve.photos.follow("ann")
            try await scene.eve.photos.follow("bob")
            try await scene.post("of ann's", by: ann)
            try await scene.post("of bob's", by: bob)
            #expect(try await ann.home().count == 2)

            try await scene.set(blocked: true, annBlocks ? bob : ann, by: annBlocks ? ann : bob)

            #expect(try await ann.home().map(\.text) == ["of ann's"])
            #expect(try await bob.home().map(\.text) == ["of bob's"])
            for (one, other) in [(ann, "bob"), (bob, "ann")] {
                for path in ["", "/followers", "/following", "/posts"] {
                    #expect(try await one.ask(.get, "/photos/people/\(other)\(path)").status == 404, "\(path)")
                }
                #expect(try await one.ask(.put, "/photos/people/\(other)/follow").status == 404)
                #expect(try await one.ask(.delete, "/photos/people/\(other)/follow").status == 404)
                #expect(try await one.photos.me().followerCount == 1)
                let followers = try await one.photos.followers(of: "eve").things
                #expect(followers.isEmpty)
                #expect(try await one.photos.following(of: "eve").things.map(\.userId) == [one.id.user])
            }
            #expect(try await scene.eve.home().count == 2)
            #expect(try await scene.misfollowed() == [])
        }
    }

    @Test func itsEndRestoresNothing() async throws {
        try await withPhotos { scene in
            try await scene.introduce(scene.ann, scene.bob)
            try await scene.ann.photos.follow("bob")
            try await scene.post(by: scene.bob)
            try await scene.set(blocked: true, scene.bob, by: scene.ann)
            try await scene.set(blocked: true, scene.ann, by: scene.bob)
            try await scene.set(blocked: false, scene.bob, by: scene.ann)
            #expect(try await scene.ann.ask(.get, "/photos/people/bob").status == 404)
            try await scene.set(blocked: false, scene.ann, by: scene.bob)
            try await scene.set(blocked: false, scene.ann, by: scene.bob)

            #expect(try await scene.ann.photos.profile(of: "bob").isFollowing == false)
            #expect(try await scene.ann.home().isEmpty)
            try await scene.ann.photos.follow("bob")
            #expect(try await scene.ann.home().count == 1)
            #expect(try await scene.misfollowed() == [])
        }
    }

    @Test func whoNeverCameIsBlockedAllTheSame() async throws {
        try await withPhotos { scene in
            let (ann, bob) = (try await scene.account("Ann"), try await scene.account("Bob"))
            _ = try await ann.photos.me()
            try await scene.set(blocked: true, bob, by: ann)
            try await scene.set(blocked: true, bob, by: ann)

            #expect(try await ann.ask(.get, "/photos/people/\(bob.id.user)").status == 404)
            #expect(try await bob.photos.me().fullName == "Bob")
            #expect(try await bob.ask(.put, "/photos/people/\(ann.id.user)/follow").status == 404)
            #expect(try await bob.photos.people(found: "ann").isEmpty)
            #expect(try await bob.photos.people(found: "bob").map(\.fullName) == ["Bob"])
        }
    }

    @Test func nobodyIsKeptApartAcrossApplications() async throws {
        try await withPhotos { scene in
            let roosts = try await scene.account("Ann")
            try await scene.introduce(scene.bob, roosts)
            try await scene.set(blocked: true, scene.bob, by: roosts)
            try await scene.set(blocked: true, scene.bob, by: scene.bob)
            #expect(try await scene.rows("SELECT 'one' AS row FROM blocks") == [])
        }
    }

    @Test func ofAFollowAndABlockAtOnceTheBlockStands() async throws {
        try await withPhotos { scene in
            try await scene.introduce(scene.ann, scene.bob)
            for _ in 0..<10 {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await scene.set(blocked: true, scene.bob, by: scene.ann) }
                    for (one, other) in [(scene.ann, "bob"), (scene.bob, "ann")] {
                        group.addTask {
                            let status = try await one.ask(.put, "/photos/people/\(other)/follow").status
                            #expect([200, 404].contains(status))
                        }
                    }
                    try await group.waitForAll()
                }
                #expect(try await scene.rows("SELECT 'one' AS row FROM follows") == [])
                #expect(try await scene.misfollowed() == [])
                try await scene.set(blocked: false, scene.bob, by: scene.ann)
            }
        }
    }
}
