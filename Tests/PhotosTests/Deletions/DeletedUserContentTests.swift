import Foundation
import Logging
import PhotosAPI
import Postgres
import TestSupport
import Testing
import Wire

@testable import PhotosServer

@Suite("Deletion of user content") struct DeletedUserContentTests {
    @Test("A deletion removes a user's content and keeps that of others, with exact counters")
    func removesEverything() async throws {
        try await withPhotos { fixture in
            let anns = try await fixture.post("#ann", by: fixture.ann)
            for number in 0..<5 {
                let bobs = try await fixture.post("#bob \(number)", by: fixture.bob)
                let comment = try await fixture.ann.photos.comment("of Ann", on: bobs.postId)
                _ = try await fixture.ann.photos.comment("of Ann too", on: bobs.postId)
                let eves = try await fixture.eve.photos.comment("of Eve", on: bobs.postId)
                for testUser in [fixture.ann, fixture.eve] { try await testUser.photos.like(bobs.postId) }
                try await fixture.ann.photos.flag(bobs.postId)
                try await fixture.ann.photos.flag(eves.commentId, on: bobs.postId)
                try await fixture.eve.photos.flag(comment.commentId, on: bobs.postId)
                if number == 0 { try await fixture.eve.photos.flag(bobs.postId) }
            }
            try await fixture.bob.photos.like(anns.postId)
            _ = try await fixture.bob.photos.comment("hi", on: anns.postId)
            let gone = try #require(try await PeopleStore(db: fixture.service.database.pool).find(fixture.ann.id))
            let deletedContent = DeletedUserContent(
                database: fixture.service.database.pool,
                links: MediaLinks(publicURL: "http://roost.test"),
                batch: 2
            )

            try await deletedContent.clear(gone.id)

            let posts = try await fixture.eve.photos.posts().items
            #expect(posts.map(\.author.userId) == Array(repeating: "bob", count: 5))
            #expect(posts.allSatisfy { $0.likeCount == 1 })
            #expect(posts.allSatisfy { $0.commentCount == 1 })
            #expect(posts.allSatisfy { $0.recentComments.map(\.author.userId) == ["eve"] })
            #expect(try await fixture.eve.photos.hashtags("a") == [])
            let flagged = try await fixture.rows("SELECT flag_count::text AS row FROM flagged_items")
            #expect(flagged == ["1"])
            #expect(try await fixture.countInconsistencies() == [])
            // No other row refers to the user's row, so it can be deleted.
            try await eventually { try await fixture.rows("SELECT 'x' AS row FROM deleted_posts") == [] }
            let database = fixture.service.database.pool
            try await database.run("DELETE FROM people_names WHERE person_id = \(gone.id)")
            try await database.transaction { db in try await PersonDeletionStore(db: db).remove(gone.id) }
            #expect(try await PeopleStore(db: database).find(fixture.ann.id) == nil)
        }
    }

    @Test("Counters are exact after concurrent deletions")
    func concurrentDeletions() async throws {
        try await withPhotos { fixture in
            var deletedUsers: [TestUser] = []
            for number in 0..<4 { deletedUsers.append(try await fixture.testUser("p\(number)")) }
            for _ in 0..<6 {
                let post = try await fixture.post(by: fixture.ann).postId
                for testUser in deletedUsers {
                    try await testUser.photos.like(post)
                    _ = try await testUser.photos.comment("x", on: post)
                }
            }
            let pool = fixture.service.database.pool
            let deletedContent = DeletedUserContent(database: pool, links: MediaLinks(publicURL: ""), batch: 3)
            var ids: [PhotosServer.Person.ID] = []
            for testUser in deletedUsers {
                ids.append(try #require(try await PeopleStore(db: pool).find(testUser.id)).id)
            }

            try await withThrowingTaskGroup(of: Void.self) { group in
                for id in ids { group.addTask { try await deletedContent.clear(id) } }
                try await group.waitForAll()
            }

            let posts = try await fixture.ann.photos.posts().items
            #expect(posts.allSatisfy { $0.likeCount == 0 })
            #expect(posts.allSatisfy { $0.commentCount == 0 })
            #expect(try await fixture.countInconsistencies() == [])
        }
    }
}
