import PhotosAPI
import Postgres
import ServiceHost
import Testing
import TestSupport

@testable import PhotosServer

@Suite("Rows that photos cannot read") struct PoisonTests {
    @Test("Activity of a kind that this release does not know delays no other activity")
    func activity() async throws {
        let push = FakePush()
        let settings = ["PUSH_URL": "http://push.test", "ACTIVITY_DIGEST_SECONDS": "0"]
        try await withPhotos(settings: settings, peers: ["push": push.client]) { fixture in
            let post = try await fixture.post("Look!", by: fixture.ann)
            push.setUnavailable(true)
            try await fixture.bob.photos.like(post.postId)
            try await fixture.service.database.pool.run(
                "ALTER TABLE activity_groups DROP CONSTRAINT activity_groups_kind"
            )
            try await fixture.service.database.pool.run(
                """
                INSERT INTO activity_groups (recipient_id, kind, number, waiting_since, due_at)
                SELECT person_id, 'future', 0, now(), now() FROM people WHERE user_id = 'ann'
                """
            )
            _ = try await fixture.bob.photos.comment("Nice!", on: post.postId)
            push.setUnavailable(false)

            try await push.waitForNotifications(2)

            #expect(Set(push.bodies) == ["like.one name=bob", "Nice!"])
            try await PoisonTest(.activity, in: fixture.service.database).check()
        }
    }
}
