import HTTPTypes
import PhotosAPI
import TestSupport
import Testing
import Wire

@testable import PhotosServer

@Suite("Follows") struct FollowTests {
    @Test("Following and unfollowing are idempotent and change both counters")
    func counts() async throws {
        try await withPhotos { fixture in
            try await fixture.createProfiles(fixture.bob)

            let bob = try await fixture.ann.photos.follow("bob")
            #expect(bob == Profile(userId: "bob", fullName: "bob", followerCount: 1, isFollowing: true))
            #expect(try await fixture.ann.photos.follow("bob") == bob)
            let ann = try await fixture.bob.photos.profile(of: "ann")
            #expect(ann == Profile(userId: "ann", fullName: "ann", followingCount: 1, isFollowedBy: true))

            let left = try await fixture.ann.photos.unfollow("bob")
            #expect(left == Profile(userId: "bob", fullName: "bob"))
            #expect(try await fixture.ann.photos.unfollow("bob") == left)
            #expect(try await fixture.followInconsistencies() == [])
        }
    }

    @Test("A user cannot follow themselves, an unknown user or a user of another application")
    func invalidTargets() async throws {
        try await withPhotos { fixture in
            try await fixture.createProfiles(fixture.ann)
            let roosts = try await fixture.account("Roost's")
            _ = try await roosts.photos.me()

            let own = try await fixture.ann.ask(.put, "/photos/people/ann/follow")
            #expect(own.status == 422)
            #expect(own.problem?.code == "cannot_follow_self")
            for unknownUser in ["nobody", roosts.id.user] {
                for method in [.put, .delete] as [HTTPRequest.Method] {
                    let response = try await fixture.ann.ask(method, "/photos/people/\(unknownUser)/follow")
                    #expect(response.status == 404)
                    #expect(response.problem?.code == "user_not_found")
                }
            }
            #expect(try await fixture.rows("SELECT 'one' AS row FROM follows") == [])
        }
    }

    @Test("A user cannot follow more users than the limit")
    func followLimit() async throws {
        try await withPhotos(change: { $0.maximumFollowsOfUser = 2 }) { fixture in
            let other = try await fixture.testUser("other")
            try await fixture.createProfiles(fixture.ann, fixture.bob, other)
            let eve = fixture.eve.photos
            try await eve.follow("ann")
            try await eve.follow("bob")

            let refused = try await fixture.eve.ask(.put, "/photos/people/other/follow")
            #expect(refused.status == 422)
            #expect(refused.problem?.code == "too_many_follows")
            try await eve.follow("ann")
            try await eve.unfollow("ann")
            try await eve.follow("other")
            #expect(try await eve.me().followingCount == 2)
            #expect(try await fixture.followInconsistencies() == [])
        }
    }

    @Test("Followers and followed users are paged newest first, at any page size")
    func paging() async throws {
        try await withPhotos { fixture in
            let names = (0..<7).map { "f\($0)" }
            for name in names {
                let testUser = try await fixture.testUser(name)
                try await fixture.createProfiles(testUser)
                try await fixture.createProfiles(fixture.ann)
                try await testUser.photos.follow("ann")
                try await fixture.ann.photos.follow(name)
            }
            try await fixture.bob.photos.follow("f3")
            try await fixture.bob.photos.follow("ann")
            let newest = ["bob"] + names.reversed()

            for limit in [1, 3, 7, 100] {
                let followers = try await fixture.bob.all(limit: limit) {
                    try await $0.followers(of: "ann", limit: $1, cursor: $2)
                }
                #expect(followers.map(\.userId) == newest)
                #expect(followers.filter(\.isFollowing).map(\.userId) == ["f3"])
                let following = try await fixture.bob.all(limit: limit) {
                    try await $0.following(of: "ann", limit: $1, cursor: $2)
                }
                #expect(following.map(\.userId) == Array(newest.dropFirst()))
                #expect(following.allSatisfy { $0.followerCount == ($0.userId == "f3" ? 2 : 1) })
            }
        }
    }

    @Test("A cursor is valid only for its user and list")
    func cursorScope() async throws {
        try await withPhotos { fixture in
            try await fixture.createProfiles(fixture.ann, fixture.bob, fixture.eve)
            for testUser in [fixture.bob, fixture.eve] { try await testUser.photos.follow("ann") }
            let cursor = try #require(try await fixture.bob.photos.followers(of: "ann", limit: 1).next)

            for (testUser, path) in [
                (fixture.bob, "people/ann/following?cursor=\(cursor)"),
                (fixture.bob, "people/bob/followers?cursor=\(cursor)"),
                (fixture.eve, "people/ann/followers?cursor=\(cursor)"), (fixture.bob, "home?cursor=\(cursor)"),
                (fixture.bob, "people/ann/followers?cursor=\(cursor.dropLast())"), (fixture.bob, "home?cursor=x"),
            ] {
                let response = try await testUser.ask(.get, "/photos/\(path)")
                #expect(response.status == 400, "\(path): \(response.text)")
                #expect(response.problem?.field == "cursor", "\(path): \(response.text)")
            }
            for list in ["people/ann/followers", "people/ann/following", "home"] {
                let response = try await fixture.bob.ask(.get, "/photos/\(list)?limit=101")
                #expect(response.status == 400)
                #expect(response.problem?.field == "limit")
            }
        }
    }

    @Test("Counters are exact after concurrent follows at two instances")
    func concurrentFollows() async throws {
        try await withPhotos { fixture in
            try await fixture.createProfiles(fixture.ann)
            try await withSecondInstance(of: fixture) { second in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in 0..<12 {
                        let name = User.ID(application: PhotosFixture.application, user: "p\(number)")
                        let at = number.isMultiple(of: 2) ? fixture.service : second
                        let testUser = try await TestUser(name, at: at, fixture.auth)
                        try await fixture.createProfiles(testUser)
                        group.addTask {
                            for _ in 0..<3 {
                                try await testUser.photos.follow("ann")
                                try await fixture.ann.photos.follow(testUser.id.user)
                                try await testUser.photos.unfollow("ann")
                            }
                            try await testUser.photos.follow("ann")
                        }
                    }
                    try await group.waitForAll()
                }
            }
            #expect(try await fixture.followInconsistencies() == [])
            let ann = try await fixture.ann.photos.me()
            #expect(ann.followerCount == 12)
            #expect(ann.followingCount == 12)
        }
    }
}
