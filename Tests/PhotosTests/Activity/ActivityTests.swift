import Foundation
import PhotosAPI
import PushAPI
import TestSupport
import Testing
import Wire

/// Whom push is told of likes, comments and followers, and in which words.
@Suite struct ActivityTests {
    @Test func digest() async throws {
        try await withActivity { fixture, push in
            let post = try await fixture.post("Look!", by: fixture.ann)
            try await fixture.bob.photos.like(post.postId)
            try await push.waitForNotifications(1)
            #expect(push.bodies == ["like.one name=bob"])

            // While push is away they gather.
            push.setUnavailable(true)
            for name in ["cat", "dan", "eva", "fay"] { try await fixture.testUser(name).photos.like(post.postId) }
            push.setUnavailable(false)
            try await eventually { push.bodies.last == "like.others count=4 name=fay" }
            let notified = push.taken
            #expect(notified.allSatisfy { $0.kind == .like && $0.applicationId == PhotosFixture.application })
            #expect(notified.allSatisfy { $0.recipients.map(\.userId) == ["ann"] })
            #expect(Set(notified.map(\.collapseKey)) == ["like:\(post.postId)"])
            #expect(notified.last?.data?["postId"].string == post.postId && notified.last?.data?["count"].int == 5)
        }
    }

    @Test func ownAndBlockedActivity() async throws {
        try await withActivity(digestInterval: 10) { fixture, push in
            let post = try await fixture.post("Look!", by: fixture.ann)
            try await fixture.ann.photos.like(post.postId)
            _ = try await fixture.ann.photos.comment("Mine", on: post.postId)
            try await fixture.bob.photos.like(post.postId)
            try await push.waitForNotifications(1)
            // Until the pause is over Eve's like waits, and then there is a block.
            try await fixture.eve.photos.like(post.postId)
            try await fixture.block(fixture.eve, by: fixture.ann)
            _ = try await fixture.bob.photos.comment("Nice!", on: post.postId)
            try await push.waitForNotifications(2)
            let notified = try #require(push.taken.last)
            #expect(
                notified.kind == .comment && notified.titleMessage?.summary == "comment.one name=bob"
                    && notified.body == "Nice!"
            )
            try await eventually(within: .seconds(60)) { try await fixture.isOutboxEmpty() }
            #expect(push.bodies == ["like.one name=bob", "Nice!"])
        }
    }

    @Test func withdrawnActivity() async throws {
        try await withActivity { fixture, push in
            let post = try await fixture.post("Look!", by: fixture.ann)
            push.setUnavailable(true)
            try await fixture.bob.photos.like(post.postId)
            try await fixture.bob.photos.unlike(post.postId)
            let comment = try await fixture.bob.photos.comment("Oops", on: post.postId)
            try await fixture.bob.photos.delete(comment.commentId, on: post.postId)
            // Even while push is away, what is not so any more is settled without it, after any attempt that had read it.
            try await eventually { try await fixture.isOutboxEmpty() }
            push.setUnavailable(false)
            // Nor does it come along with what is told next.
            try await fixture.eve.photos.like(post.postId)
            try await push.waitForNotifications(1)
            try await eventually { try await fixture.isOutboxEmpty() }
            #expect(push.bodies == ["like.one name=eve"])
        }
    }

    @Test("Push learns that the text of a comment it told is gone")
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

    @Test func repeatedLike() async throws {
        try await withActivity { fixture, push in
            let post = try await fixture.post("Look!", by: fixture.ann)
            for _ in 0..<3 {
                try await fixture.bob.photos.like(post.postId)
                try await fixture.bob.photos.unlike(post.postId)
            }
            try await fixture.bob.photos.like(post.postId)
            // Told as soon as a round finds him liking it, and not again.
            try await push.waitForNotifications(1)
            try await fixture.bob.photos.unlike(post.postId)
            try await fixture.bob.photos.like(post.postId)
            try await eventually { try await fixture.isOutboxEmpty() }
            #expect(push.bodies == ["like.one name=bob"])
        }
    }

    @Test func lostResponse() async throws {
        try await withActivity { fixture, push in
            let post = try await fixture.post("Look!", by: fixture.ann)
            push.dropResponses(2)
            try await fixture.bob.photos.like(post.postId)
            try await eventually { push.calls.count >= 3 }
            // The same words under the same id, whatever came meanwhile.
            try await fixture.eve.photos.like(post.postId)
            try await push.waitForNotifications(2)
            let ids = push.calls.joined().map(\.id)
            #expect(Set(ids).count == 2 && push.bodies.count == 2)
            #expect(push.bodies.first == "like.one name=bob")
        }
    }

    @Test func permanentRejection() async throws {
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
