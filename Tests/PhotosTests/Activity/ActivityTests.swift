import Foundation
import PhotosAPI
import PushAPI
import TestSupport
import Testing
import Wire

@Suite("Notifications of activity") struct ActivityTests {
    @Test("Likes of one post are combined into one notification")
    func digest() async throws {
        try await withActivity { fixture, push in
            let post = try await fixture.post("Look!", by: fixture.ann)
            try await fixture.bob.photos.like(post.postId)
            try await push.waitForNotifications(1)
            #expect(push.bodies == ["like.one name=bob"])

            // Likes accumulate while push is unavailable.
            push.setUnavailable(true)
            for name in ["cat", "dan", "eva", "fay"] { try await fixture.testUser(name).photos.like(post.postId) }
            push.setUnavailable(false)
            try await eventually { push.bodies.last == "like.others count=4 name=fay" }
            let notified = push.taken
            #expect(notified.allSatisfy { $0.kind == .like })
            #expect(notified.allSatisfy { $0.applicationId == PhotosFixture.application })
            #expect(notified.allSatisfy { $0.recipients.map(\.userId) == ["ann"] })
            #expect(Set(notified.map(\.collapseKey)) == ["like:\(post.postId)"])
            #expect(notified.last?.data?["postId"].string == post.postId)
            #expect(notified.last?.data?["count"].int == 5)
        }
    }

    @Test("Own activity and activity of a blocked user are not notified")
    func ownAndBlockedActivity() async throws {
        try await withActivity(digestInterval: 10) { fixture, push in
            let post = try await fixture.post("Look!", by: fixture.ann)
            try await fixture.ann.photos.like(post.postId)
            _ = try await fixture.ann.photos.comment("Mine", on: post.postId)
            try await fixture.bob.photos.like(post.postId)
            try await push.waitForNotifications(1)
            // Eve's like waits for the digest interval, and Eve is blocked before it ends.
            try await fixture.eve.photos.like(post.postId)
            try await fixture.block(fixture.eve, by: fixture.ann)
            _ = try await fixture.bob.photos.comment("Nice!", on: post.postId)
            try await push.waitForNotifications(2)
            let notified = try #require(push.taken.last)
            #expect(notified.kind == .comment)
            #expect(notified.titleMessage?.summary == "comment.one name=bob")
            #expect(notified.body == "Nice!")
            try await eventually(within: .seconds(60)) { try await fixture.isOutboxEmpty() }
            #expect(push.bodies == ["like.one name=bob", "Nice!"])
        }
    }

    @Test("A withdrawn like and a deleted comment are not notified")
    func withdrawnActivity() async throws {
        try await withActivity { fixture, push in
            let post = try await fixture.post("Look!", by: fixture.ann)
            push.setUnavailable(true)
            try await fixture.bob.photos.like(post.postId)
            try await fixture.bob.photos.unlike(post.postId)
            let comment = try await fixture.bob.photos.comment("Oops", on: post.postId)
            try await fixture.bob.photos.delete(comment.commentId, on: post.postId)
            // The outbox drops withdrawn activity even while push is unavailable.
            try await eventually { try await fixture.isOutboxEmpty() }
            push.setUnavailable(false)
            // The next notification does not include it either.
            try await fixture.eve.photos.like(post.postId)
            try await push.waitForNotifications(1)
            try await eventually { try await fixture.isOutboxEmpty() }
            #expect(push.bodies == ["like.one name=eve"])
        }
    }

    @Test("Deleting a comment or a post recalls its notifications")
    func recall() async throws {
        let push = FakePush()
        let settings = [
            "PUSH_URL": "http://push.test", "ACTIVITY_DIGEST_SECONDS": "0",
            "EVENT_SUBSCRIBERS": "notification.recalled=push",
        ]
        try await withPhotos(settings: settings, peers: ["push": push.client]) { fixture in
            let post = try await fixture.post("Look!", by: fixture.ann)
            let comment = try await fixture.bob.photos.comment("Oops", on: post.postId)
            try await push.waitForNotifications(1)
            try await eventually { try await fixture.isOutboxEmpty() }
            let notified = try #require(push.taken.first)

            try await fixture.bob.photos.delete(comment.commentId, on: post.postId)
            try await fixture.ann.photos.delete(post.postId)

            let recalled = try await fixture.rows(
                "SELECT content::json ->> 'notificationId' AS row FROM event_outbox ORDER BY outbox_id"
            )
            let ids = [notified.id, "photos:comment:\(post.postId)", "photos:like:\(post.postId)"]
            #expect(recalled == ids)
        }
    }

    @Test("Liking again after unliking is notified once")
    func repeatedLike() async throws {
        try await withActivity { fixture, push in
            let post = try await fixture.post("Look!", by: fixture.ann)
            for _ in 0..<3 {
                try await fixture.bob.photos.like(post.postId)
                try await fixture.bob.photos.unlike(post.postId)
            }
            try await fixture.bob.photos.like(post.postId)
            // The notification is sent as soon as a round finds the like, and not again.
            try await push.waitForNotifications(1)
            try await fixture.bob.photos.unlike(post.postId)
            try await fixture.bob.photos.like(post.postId)
            try await eventually { try await fixture.isOutboxEmpty() }
            #expect(push.bodies == ["like.one name=bob"])
        }
    }

    @Test("A notification whose response is lost is sent again with the same id")
    func lostResponse() async throws {
        try await withActivity { fixture, push in
            let post = try await fixture.post("Look!", by: fixture.ann)
            push.dropResponses(2)
            try await fixture.bob.photos.like(post.postId)
            try await eventually { push.calls.count >= 3 }
            // The text and the id of the retry stay the same, even if there is new activity.
            try await fixture.eve.photos.like(post.postId)
            try await push.waitForNotifications(2)
            let ids = push.calls.joined().map(\.id)
            #expect(Set(ids).count == 2)
            #expect(push.bodies.count == 2)
            #expect(push.bodies.first == "like.one name=bob")
        }
    }

    @Test("A notification that push rejects does not delay others")
    func permanentRejection() async throws {
        try await withActivity { fixture, push in
            push.refuse { $0.recipients.first?.userId == "ann" ? APIError.invalid("body", "no") : nil }
            let ofAnn = try await fixture.post("Ann's", by: fixture.ann)
            let ofEve = try await fixture.post("Eve's", by: fixture.eve)
            try await fixture.bob.photos.like(ofAnn.postId)
            try await fixture.bob.photos.like(ofEve.postId)
            try await push.waitForNotifications(1)
            try await eventually { try await fixture.isOutboxEmpty() }
            #expect(push.taken.map { $0.recipients.first?.userId } == ["eve"])
        }
    }

    private func withActivity(
        digestInterval: Int = 0,
        _ body: (PhotosFixture, FakePush) async throws -> Void
    ) async throws {
        let push = FakePush()
        let settings = ["PUSH_URL": "http://push.test", "ACTIVITY_DIGEST_SECONDS": "\(digestInterval)"]
        try await withPhotos(settings: settings, peers: ["push": push.client]) { try await body($0, push) }
    }
}

extension PhotosFixture {
    func isOutboxEmpty() async throws -> Bool {
        try await rows("SELECT count(*)::text AS row FROM activity_groups WHERE waiting_since IS NOT NULL") == ["0"]
    }
}
