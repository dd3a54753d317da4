import Foundation
import PhotosAPI
import PushAPI
import TestSupport
import Testing
import Wire

/// Whom push is told of likes, comments and followers, and in which words.
@Suite struct NewsTests {
    @Test func likesOfAPostAreToldTogether() async throws {
        try await withNews { scene, push in
            let post = try await scene.post("Look!", by: scene.ann)
            try await scene.bob.photos.like(post.postId)
            try await push.has(1)
            #expect(push.bodies == ["like.one name=bob"])

            // While push is away they gather.
            push.setAway(true)
            for name in ["cat", "dan", "eva", "fay"] { try await scene.player(name).photos.like(post.postId) }
            push.setAway(false)
            try await eventually { push.bodies.last == "like.others count=4 name=fay" }
            let told = push.taken
            #expect(told.allSatisfy { $0.kind == .like && $0.applicationId == Scene.application })
            #expect(told.allSatisfy { $0.recipients.map(\.userId) == ["ann"] })
            #expect(Set(told.map(\.collapseKey)) == ["like:\(post.postId)"])
            #expect(told.last?.data?["postId"].string == post.postId && told.last?.data?["count"].int == 5)
        }
    }

    @Test func nobodyIsToldOfHimselfOrOfThoseWhomABlockKeepsApart() async throws {
        try await withNews(pause: 10) { scene, push in
            let post = try await scene.post("Look!", by: scene.ann)
            try await scene.ann.photos.like(post.postId)
            _ = try await scene.ann.photos.comment("Mine", on: post.postId)
            try await scene.bob.photos.like(post.postId)
            try await push.has(1)
            // Until the pause is over Eve's like waits, and then there is a block.
            try await scene.eve.photos.like(post.postId)
            try await scene.block(scene.eve, by: scene.ann)
            _ = try await scene.bob.photos.comment("Nice!", on: post.postId)
            try await push.has(2)
            let told = try #require(push.taken.last)
            #expect(
                told.kind == .comment && told.titleMessage?.summary == "comment.one name=bob" && told.body == "Nice!"
            )
            try await eventually(within: .seconds(60)) { try await scene.nothingWaits() }
            #expect(push.bodies == ["like.one name=bob", "Nice!"])
        }
    }

    @Test func whatIsTakenBackBeforeItIsToldIsNotTold() async throws {
        try await withNews { scene, push in
            let post = try await scene.post("Look!", by: scene.ann)
            push.setAway(true)
            try await scene.bob.photos.like(post.postId)
            try await scene.bob.photos.unlike(post.postId)
            let comment = try await scene.bob.photos.comment("Oops", on: post.postId)
            try await scene.bob.photos.delete(comment.commentId, on: post.postId)
            // Even while push is away, what is not so any more is settled without it, after any attempt that had read it.
            try await eventually { try await scene.nothingWaits() }
            push.setAway(false)
            // Nor does it come along with what is told next.
            try await scene.eve.photos.like(post.postId)
            try await push.has(1)
            try await eventually { try await scene.nothingWaits() }
            #expect(push.bodies == ["like.one name=eve"])
        }
    }

    @Test("Push learns that the text of a comment it told is gone")
    func recall() async throws {
        let push = PushStandIn()
        let settings = [
            "PUSH_URL": "http://push.test", "ACTIVITY_DIGEST_SECONDS": "0",
            "EVENT_SUBSCRIBERS": "notification.recalled=push",
        ]
        try await withPhotos(settings: settings, neighbours: ["push": push.client]) { scene in
            let post = try await scene.post("Look!", by: scene.ann)
            let comment = try await scene.bob.photos.comment("Oops", on: post.postId)
            try await push.has(1)
            try await eventually { try await scene.nothingWaits() }
            let told = try #require(push.taken.first)

            try await scene.bob.photos.delete(comment.commentId, on: post.postId)
            try await scene.ann.photos.delete(post.postId)

            let recalled = try await scene.rows(
                "SELECT content::json ->> 'notificationId' AS row FROM event_outbox ORDER BY outbox_id"
            )
            let ids = [told.id, "photos:comment:\(post.postId)", "photos:like:\(post.postId)"]
            #expect(recalled == ids)
        }
    }

    @Test func whoLikesAgainIsNotToldAgain() async throws {
        try await withNews { scene, push in
            let post = try await scene.post("Look!", by: scene.ann)
            for _ in 0..<3 {
                try await scene.bob.photos.like(post.postId)
                try await scene.bob.photos.unlike(post.postId)
            }
            try await scene.bob.photos.like(post.postId)
            // Told as soon as a round finds him liking it, and not again.
            try await push.has(1)
            try await scene.bob.photos.unlike(post.postId)
            try await scene.bob.photos.like(post.postId)
            try await eventually { try await scene.nothingWaits() }
            #expect(push.bodies == ["like.one name=bob"])
        }
    }

    @Test func anAnswerThatIsLostTellsNobodyTwice() async throws {
        try await withNews { scene, push in
            let post = try await scene.post("Look!", by: scene.ann)
            push.loseAnswers(2)
            try await scene.bob.photos.like(post.postId)
            try await eventually { push.calls.count >= 3 }
            // The same words under the same id, whatever came meanwhile.
            try await scene.eve.photos.like(post.postId)
            try await push.has(2)
            let ids = push.calls.joined().map(\.id)
            #expect(Set(ids).count == 2 && push.bodies.count == 2)
            #expect(push.bodies.first == "like.one name=bob")
        }
    }

    @Test func whatPushWillNeverTakeHoldsUpNobody() async throws {
        try await withNews { scene, push in
            push.refuse { $0.recipients.first?.userId == "ann" ? APIError.invalid("body", "no") : nil }
            let ofAnn = try await scene.post("Ann's", by: scene.ann)
            let ofEve = try await scene.post("Eve's", by: scene.eve)
            try await scene.bob.photos.like(ofAnn.postId)
            try await scene.bob.photos.like(ofEve.postId)
            try await push.has(1)
            try await eventually { try await scene.nothingWaits() }
            #expect(push.taken.map { $0.recipients.first?.userId } == ["eve"])
        }
    }

    private func withNews(pause: Int = 0, _ body: (Scene, PushStandIn) async throws -> Void) async throws {
        let push = PushStandIn()
        let settings = ["PUSH_URL": "http://push.test", "ACTIVITY_DIGEST_SECONDS": "\(pause)"]
        try await withPhotos(settings: settings, neighbours: ["push": push.client]) { try await body($0, push) }
    }
}

extension Scene {
    func nothingWaits() async throws -> Bool {
        try await rows("SELECT count(*)::text AS row FROM news_groups WHERE waiting_since IS NOT NULL") == ["0"]
    }
}
