import Foundation
import Logging
import PhotosAPI
import Postgres
import TestSupport
import Testing
import Wire

@testable import PhotosServer

/// What is left of somebody who goes: nothing.
@Suite struct LegacyTests {
    @Test func nothingIsLeftAndEverythingElseIsCountedRight() async throws {
        try await withPhotos { scene in
            let anns = try await scene.post("#ann", by: scene.ann)
            for number in 0..<5 {
                let bobs = try await scene.post("#bob \(number)", by: scene.bob)
                let comment = try await scene.ann.photos.comment("of Ann", on: bobs.postId)
                _ = try await scene.ann.photos.comment("of Ann too", on: bobs.postId)
                let eves = try await scene.eve.photos.comment("of Eve", on: bobs.postId)
                for player in [scene.ann, scene.eve] { try await player.photos.like(bobs.postId) }
                try await scene.ann.photos.flag(bobs.postId)
                try await scene.ann.photos.flag(eves.commentId, on: bobs.postId)
                try await scene.eve.photos.flag(comment.commentId, on: bobs.postId)
                if number == 0 { try await scene.eve.photos.flag(bobs.postId) }
            }
            try await scene.bob.photos.like(anns.postId)
            _ = try await scene.bob.photos.comment("hi", on: anns.postId)
            let gone = try #require(try await PeopleStore(db: scene.service.database.pool).find(scene.ann.id))
            let legacy = Legacy(
                database: scene.service.database.pool,
                links: MediaLinks(publicURL: "http://roost.test"),
                batch: 2
            )

            try await legacy.clear(gone.id)

            let posts = try await scene.eve.photos.posts().things
            #expect(posts.map(\.author.userId) == Array(repeating: "bob", count: 5))
            #expect(posts.allSatisfy { $0.likeCount == 1 && $0.commentCount == 1 })
            #expect(posts.allSatisfy { $0.recentComments.map(\.author.userId) == ["eve"] })
            #expect(try await scene.eve.photos.hashtags("a") == [])
            let flagged = try await scene.rows("SELECT flag_count::text AS row FROM flagged")
            #expect(flagged == ["1"])
            #expect(try await scene.miscounted() == [])
            // But for what is hers alone no row of any table names her: her own can go.
            try await eventually { try await scene.rows("SELECT 'x' AS row FROM deleted_posts") == [] }
            let database = scene.service.database.pool
            try await database.run("DELETE FROM people_names WHERE person_id = \(gone.id)")
            try await database.transaction { db in try await DepartureStore(db: db).remove(gone.id) }
            #expect(try await PeopleStore(db: database).find(scene.ann.id) == nil)
        }
    }

    @Test func twoWhoGoAtOnceDoNotWaitForEachOther() async throws {
        try await withPhotos { scene in
            var leavers: [Player] = []
            for number in 0..<4 { leavers.append(try await scene.player("p\(number)")) }
            for _ in 0..<6 {
                let post = try await scene.post(by: scene.ann).postId
                for player in leavers {
                    try await player.photos.like(post)
                    _ = try await player.photos.comment("x", on: post)
                }
            }
            let pool = scene.service.database.pool
            let legacy = Legacy(database: pool, links: MediaLinks(publicURL: ""), batch: 3)
            var ids: [PhotosServer.Person.ID] = []
            for player in leavers { ids.append(try #require(try await PeopleStore(db: pool).find(player.id)).id) }

            try await withThrowingTaskGroup(of: Void.self) { group in
                for id in ids { group.addTask { try await legacy.clear(id) } }
                try await group.waitForAll()
            }

            #expect(try await scene.ann.photos.posts().things.allSatisfy { $0.likeCount == 0 && $0.commentCount == 0 })
            #expect(try await scene.miscounted() == [])
        }
    }
}
