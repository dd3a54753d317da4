import HTTPTypes
import PhotosAPI
import TestSupport
import Testing
import Wire

/// Who follows whom.
@Suite struct FollowTests {
    @Test func followingIsCountedOnBothSidesOnce() async throws {
        try await withPhotos { scene in
            try await scene.introduce(scene.bob)

            let bob = try await scene.ann.photos.follow("bob")
            #expect(bob == Profile(userId: "bob", fullName: "bob", followerCount: 1, isFollowing: true))
            #expect(try await scene.ann.photos.follow("bob") == bob)
            let ann = try await scene.bob.photos.profile(of: "ann")
            #expect(ann == Profile(userId: "ann", fullName: "ann", followingCount: 1, isFollowedBy: true))

            let left = try await scene.ann.photos.unfollow("bob")
            #expect(left == Profile(userId: "bob", fullName: "bob"))
            #expect(try await scene.ann.photos.unfollow("bob") == left)
            #expect(try await scene.misfollowed() == [])
        }
    }

    @Test func whoMayNotBeFollowedIsNot() async throws {
        try await withPhotos { scene in
            try await scene.introduce(scene.ann)
            let roosts = try await scene.account("Roost's")
            _ = try await roosts.photos.me()

            let own = try await scene.ann.ask(.put, "/photos/people/ann/follow")
            #expect(own.status == 422 && own.problem?.code == "cannot_follow_self")
            for nobody in ["nobody", roosts.id.user] {
                for method in [.put, .delete] as [HTTPRequest.Method] {
                    let answer = try await scene.ann.ask(method, "/photos/people/\(nobody)/follow")
                    #expect(answer.status == 404 && answer.problem?.code == "user_not_found")
                }
            }
            #expect(try await scene.rows("SELECT 'one' AS row FROM follows") == [])
        }
    }

    @Test func oneFollowsSoManyAndNoMore() async throws {
        try await withPhotos(settings: ["FOLLOWS_MAX_USER": "2"]) { scene in
            let other = try await scene.player("other")
            try await scene.introduce(scene.ann, scene.bob, other)
            let eve = scene.eve.photos
            try await eve.follow("ann")
            try await eve.follow("bob")

            let refused = try await scene.eve.ask(.put, "/photos/people/other/follow")
            #expect(refused.status == 422 && refused.problem?.code == "too_many_follows")
            try await eve.follow("ann")
            try await eve.unfollow("ann")
            try await eve.follow("other")
            #expect(try await eve.me().followingCount == 2)
            #expect(try await scene.misfollowed() == [])
        }
    }

    @Test func listsAreNewestFirstAndPaged() async throws {
        try await withPhotos { scene in
            let names = (0..<7).map { "f\($0)" }
            for name in names {
                let player = try await scene.player(name)
                try await scene.introduce(player)
                try await scene.introduce(scene.ann)
                try await player.photos.follow("ann")
                try await scene.ann.photos.follow(name)
            }
            try await scene.bob.photos.follow("f3")
            try await scene.bob.photos.follow("ann")
            let newest = ["bob"] + names.reversed()

            for limit in [1, 3, 7, 100] {
                let followers = try await scene.bob.all(limit: limit) {
                    try await $0.followers(of: "ann", limit: $1, cursor: $2)
                }
                #expect(followers.map(\.userId) == newest)
                #expect(followers.filter(\.isFollowing).map(\.userId) == ["f3"])
                let following = try await scene.bob.all(limit: limit) {
                    try await $0.following(of: "ann", limit: $1, cursor: $2)
                }
                #expect(following.map(\.userId) == Array(newest.dropFirst()))
                #expect(following.allSatisfy { $0.followerCount == ($0.userId == "f3" ? 2 : 1) })
            }
        }
    }

    @Test func aCursorIsOfOneListAndOnePerson() async throws {
        try await withPhotos { scene in
            try await scene.introduce(scene.ann, scene.bob, scene.eve)
            for player in [scene.bob, scene.eve] { try await player.photos.follow("ann") }
            let cursor = try #require(try await scene.bob.photos.followers(of: "ann", limit: 1).next)

            for (player, path) in [
                (scene.bob, "people/ann/following?cursor=\(cursor)"),
                (scene.bob, "people/bob/followers?cursor=\(cursor)"),
                (scene.eve, "people/ann/followers?cursor=\(cursor)"), (scene.bob, "home?cursor=\(cursor)"),
                (scene.bob, "people/ann/followers?cursor=\(cursor.dropLast())"), (scene.bob, "home?cursor=x"),
            ] {
                let answer = try await player.ask(.get, "/photos/\(path)")
                #expect(answer.status == 400 && answer.problem?.field == "cursor", "\(path): \(answer.text)")
            }
            for list in ["people/ann/followers", "people/ann/following", "home"] {
                let answer = try await scene.bob.ask(.get, "/photos/\(list)?limit=101")
                #expect(answer.status == 400 && answer.problem?.field == "limit")
            }
        }
    }

    @Test func whoFollowAtOnceAreAllCounted() async throws {
        try await withPhotos { scene in
            try await scene.introduce(scene.ann)
            try await withSecondInstance(of: scene) { second in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in 0..<12 {
                        let name = User.ID(application: Scene.application, user: "p\(number)")
                        let at = number.isMultiple(of: 2) ? scene.service : second
                        let player = try await Player(name, at: at, scene.auth)
                        try await scene.introduce(player)
                        group.addTask {
                            for _ in 0..<3 {
                                try await player.photos.follow("ann")
                                try await scene.ann.photos.follow(player.id.user)
                                try await player.photos.unfollow("ann")
                            }
                            try await player.photos.follow("ann")
                        }
                    }
                    try await group.waitForAll()
                }
            }
            #expect(try await scene.misfollowed() == [])
            let ann = try await scene.ann.photos.me()
            #expect(ann.followerCount == 12 && ann.followingCount == 12)
        }
    }
}
