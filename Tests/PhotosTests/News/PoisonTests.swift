import PhotosAPI
import Postgres
import ServiceHost
import Testing
import TestSupport

@testable import PhotosServer

@Suite("Rows that photos cannot read") struct PoisonTests {
    @Test("News of a kind that this release does not know delay no other")
    func news() async throws {
        let push = PushStandIn()
        let settings = ["PUSH_URL": "http://push.test", "ACTIVITY_DIGEST_SECONDS": "0"]
        try await withPhotos(settings: settings, neighbours: ["push": push.client]) { scene in
            let post = try await scene.post("Look!", by: scene.ann)
            push.setAway(true)
            try await scene.bob.photos.like(post.postId)
            try await scene.service.database.pool.run("ALTER TABLE news_groups DROP CONSTRAINT news_groups_kind")
            try await scene.service.database.pool.run(
                """
                INSERT INTO news_groups (recipient_id, kind, number, waiting_since, due_at)
                SELECT person_id, 'future', 0, now(), now() FROM people WHERE user_id = 'ann'
                """
            )
            _ = try await scene.bob.photos.comment("Nice!", on: post.postId)
            push.setAway(false)

            try await push.has(2)

            #expect(Set(push.bodies) == ["like.one name=bob", "Nice!"])
            try await PoisonTest(.news, in: scene.service.database).check()
        }
    }
}
