import HTTPTypes
import PhotosAPI
import TestSupport
import Testing
import Wire

/// The effects in photos of a block that conversations reports.
@Suite("Blocks") struct BlockTests {
    @Test("A block ends following in both directions and hides the users from each other", arguments: [true, false])
    func block(annBlocks: Bool) async throws {
        try await withPhotos { fixture in
            let (ann, bob) = (fixture.ann, fixture.bob)
            try await fixture.createProfiles(ann, bob, fixture.eve)
            try await ann.photos.follow("bob")
            try await bob.photos.follow("ann")
            try await fixture.eve.photos.follow("ann")
            try await fixture.eve.photos.follow("bob")
            try await fixture.post("of ann's", by: ann)
            try await fixture.post("of bob's", by: bob)
            #expect(try await ann.home().count == 2)

            try await fixture.set(blocked: true, annBlocks ? bob : ann, by: annBlocks ? ann : bob)

            #expect(try await ann.home().map(\.text) == ["of ann's"])
            #expect(try await bob.home().map(\.text) == ["of bob's"])
            for (one, other) in [(ann, "bob"), (bob, "ann")] {
                for path in ["", "/followers", "/following", "/posts"] {
                    #expect(try await one.ask(.get, "/photos/people/\(other)\(path)").status == 404, "\(path)")
                }
                #expect(try await one.ask(.put, "/photos/people/\(other)/follow").status == 404)
                #expect(try await one.ask(.delete, "/photos/people/\(other)/follow").status == 404)
                #expect(try await one.photos.me().followerCount == 1)
                let followers = try await one.photos.followers(of: "eve").items
                #expect(followers.isEmpty)
                #expect(try await one.photos.following(of: "eve").items.map(\.userId) == [one.id.user])
            }
            #expect(try await fixture.eve.home().count == 2)
            #expect(try await fixture.followInconsistencies() == [])
        }
    }

    @Test("Users see each other again after both blocks are removed, and follow again by request")
    func unblock() async throws {
        try await withPhotos { fixture in
            try await fixture.createProfiles(fixture.ann, fixture.bob)
            try await fixture.ann.photos.follow("bob")
            try await fixture.post(by: fixture.bob)
            try await fixture.set(blocked: true, fixture.bob, by: fixture.ann)
            try await fixture.set(blocked: true, fixture.ann, by: fixture.bob)
            try await fixture.set(blocked: false, fixture.bob, by: fixture.ann)
            #expect(try await fixture.ann.ask(.get, "/photos/people/bob").status == 404)
            try await fixture.set(blocked: false, fixture.ann, by: fixture.bob)
            try await fixture.set(blocked: false, fixture.ann, by: fixture.bob)

            #expect(try await fixture.ann.photos.profile(of: "bob").isFollowing == false)
            #expect(try await fixture.ann.home().isEmpty)
            try await fixture.ann.photos.follow("bob")
            #expect(try await fixture.ann.home().count == 1)
            #expect(try await fixture.followInconsistencies() == [])
        }
    }

    @Test("A block applies to a user who has not used photos yet")
    func unknownUser() async throws {
        try await withPhotos { fixture in
            let (ann, bob) = (try await fixture.account("Ann"), try await fixture.account("Bob"))
            _ = try await ann.photos.me()
            try await fixture.set(blocked: true, bob, by: ann)
            try await fixture.set(blocked: true, bob, by: ann)

            #expect(try await ann.ask(.get, "/photos/people/\(bob.id.user)").status == 404)
            #expect(try await bob.photos.me().fullName == "Bob")
            #expect(try await bob.ask(.put, "/photos/people/\(ann.id.user)/follow").status == 404)
            #expect(try await bob.photos.people(matching: "ann").isEmpty)
            #expect(try await bob.photos.people(matching: "bob").map(\.fullName) == ["Bob"])
        }
    }

    @Test("Blocks across applications and of oneself are ignored")
    func otherApplication() async throws {
        try await withPhotos { fixture in
            let roosts = try await fixture.account("Ann")
            try await fixture.createProfiles(fixture.bob, roosts)
            try await fixture.set(blocked: true, fixture.bob, by: roosts)
            try await fixture.set(blocked: true, fixture.bob, by: fixture.bob)
            #expect(try await fixture.rows("SELECT 'one' AS row FROM blocks") == [])
        }
    }

    @Test("No follow is left when a block and follows are concurrent")
    func concurrentFollow() async throws {
        try await withPhotos { fixture in
            try await fixture.createProfiles(fixture.ann, fixture.bob)
            for _ in 0..<10 {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await fixture.set(blocked: true, fixture.bob, by: fixture.ann) }
                    for (one, other) in [(fixture.ann, "bob"), (fixture.bob, "ann")] {
                        group.addTask {
                            let status = try await one.ask(.put, "/photos/people/\(other)/follow").status
                            #expect([200, 404].contains(status))
                        }
                    }
                    try await group.waitForAll()
                }
                #expect(try await fixture.rows("SELECT 'one' AS row FROM follows") == [])
                #expect(try await fixture.followInconsistencies() == [])
                try await fixture.set(blocked: false, fixture.bob, by: fixture.ann)
            }
        }
    }
}
