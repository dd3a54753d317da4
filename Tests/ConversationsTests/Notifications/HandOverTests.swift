import ConversationsAPI
import Foundation
import Postgres
import PushAPI
import TestSupport
import Testing
import Wire

@testable import ConversationsServer

/// That everything is told, once and in its order, whatever becomes of push meanwhile.
@Suite struct HandOverTests {
    private let push = PushStandIn()

    private func waiting(_ scene: Scene) async throws -> Int {
        try await scene.service.database.pool.one(
            "SELECT count(*) AS n FROM outbox WHERE kind = 'messages'",
            as: { try $0.int("n") }
        )
    }

    /// How many conversations somebody is about to hand over.
    private func inHand(_ scene: Scene) async throws -> Int {
        try await scene.service.database.pool.one(
            "SELECT count(*) AS n FROM outbox WHERE claimed_by IS NOT NULL",
            as: { try $0.int("n") }
        )
    }

    @Test func whatPushDidNotTakeIsToldWhenItIsBack() async throws {
        try await withConversation(push: push) { scene in
            push.setAway(true)
            for number in 1...5 { try await scene.ann.say("\(number)", in: scene.token) }
            try await eventually { push.calls.count >= 2 }
            #expect(push.taken.isEmpty)

            push.setAway(false)

            try await push.has(5)
            #expect(push.bodies == (1...5).map { "ann: \($0)" })
            try await eventually { try await waiting(scene) == 0 }
        }
    }

    @Test func anAnswerThatIsLostIsNoSecondNotification() async throws {
        try await withConversation(push: push) { scene in
            push.loseAnswers(3)
            try await scene.ann.say("once", in: scene.token)
            try await eventually { try await waiting(scene) == 0 }
            #expect(push.bodies == ["ann: once"] && push.calls.count == 4)
            #expect(Set(push.calls.joined().map(\.id)).count == 1)
        }
    }

    @Test func aPushThatDoesNotAnswerHoldsUpNobody() async throws {
        try await withConversation(push: push) { scene in
            push.setHanging(true)
            try await scene.ann.say("first", in: scene.token)
            try await eventually { push.calls.count == 1 }

            // Whoever waited for push would wait until this ends.
            let release = Task { [push] in
                try await Task.sleep(for: .seconds(60))
                push.setHanging(false)
            }
            for number in 1...20 { try await scene.bob.say("\(number)", in: scene.token) }
            #expect(try await scene.ann.conversations.messages(scene.token).count == 20)
            #expect(push.taken.isEmpty)

            release.cancel()
            push.setHanging(false)
            try await push.has(21)
            #expect(push.bodies == ["ann: first"] + (1...20).map { "bob: \($0)" })
        }
    }

    @Test func whatWasDeletedMeanwhileIsToldToNobody() async throws {
        try await withConversation(push: push) { scene in
            push.setAway(true)
            let slip = try await scene.ann.say("a slip of the tongue", in: scene.token)
            let other = try await scene.ann.conversations.create(.init(label: "Gone", members: ["bob"]))
            try await scene.ann.say("gone", in: other.token)
            try await eventually { push.calls.count >= 1 }
            try await scene.ann.conversations.delete(slip.id, in: scene.token)
            try await scene.ann.conversations.edit(
                try await scene.ann.say("secnd", in: scene.token).id,
                in: scene.token,
                to: MessageChanges(data: "second")
            )
            try await scene.ann.conversations.delete(other.token)
            // Until nobody has in hand what he read before; while push is away it is given back.
            try await eventually { try await inHand(scene) == 0 }

            push.setAway(false)

            try await eventually { try await waiting(scene) == 0 }
            #expect(push.bodies == ["ann: second"])
        }
    }

    @Test func twoInstancesShareTheWorkAndKeepTheOrder() async throws {
        try await withConversation(push: push) { scene in
            try await withSecondInstance(of: scene, push: push) { bob in
                let others = try await [
                    scene.ann.conversations.create(.init(label: "One", members: ["bob"])),
                    scene.ann.conversations.create(.init(label: "Two", members: ["bob"])),
                ]
                let tokens = [scene.token] + others.map(\.token)
                try await withThrowingTaskGroup(of: Void.self) { tasks in
                    for writer in 0..<9 {
                        let person = writer % 2 == 0 ? scene.ann : bob
                        tasks.addTask {
                            for number in 0..<20 { try await person.say("\(writer)/\(number)", in: tokens[writer % 3]) }
                        }
                    }
                    try await tasks.waitForAll()
                }

                try await push.has(180)
                try await eventually { try await waiting(scene) == 0 }
                #expect(push.taken.count == 180)
                for token in tokens {
                    let seqs = push.taken.filter { $0.about == token }.compactMap { $0.data?["seq"].int }
                    #expect(seqs == Array(1...60))
                }
                // Nothing was told and then told again: no claim was lost on the way.
                #expect(push.calls.joined().count == 180)
            }
        }
    }

    @Test func aLargeConversationIsToldPartByPart() async throws {
        try await withConversation(push: push) { scene in
            let pool = scene.service.database.pool
            let id = scene.conversation.id.rawValue
            _ = try await pool.execute(
                "INSERT INTO users (application_id, user_id) SELECT 'other', 'm' || n FROM generate_series(1, 1200) AS n"
            )
            _ = try await pool.execute(
                """
                INSERT INTO members (conversation_id, application_id, user_id, user_number, place, is_admin)
                SELECT \(id), application_id, user_id, user_number, user_number, false
                FROM users WHERE user_id LIKE 'm%'
                """
            )
            _ = try await pool.execute("UPDATE conversations SET member_count = 1202 WHERE conversation_id = \(id)")
            // A second one, so that the parts of the first are not told twice.
            push.loseAnswers(1)
            try await scene.ann.say("all of you", in: scene.token)
            try await scene.ann.say("again", in: scene.token)

            try await eventually { try await waiting(scene) == 0 }
            for body in ["ann: all of you", "ann: again"] {
                let told = push.taken.filter { $0.body == body }
                #expect(told.count == 3 && Set(told.map(\.id)).count == 3)
                let users = told.flatMap { $0.recipients.map(\.userId) }
                #expect(users.count == 1_201 && Set(users).count == 1_201 && !users.contains("ann"))
            }
            for call in push.calls { #expect(call.reduce(0) { $0 + $1.recipients.count } <= 1_000) }
        }
    }

    @Test func aNotificationThatIsNotWantedHoldsUpNoOther() async throws {
        try await withConversation(push: push) { scene in
            let other = try await scene.ann.conversations.create(.init(label: "Other", members: ["bob"]))
            let broken = try await scene.ann.conversations.create(.init(label: "Broken", members: ["bob"]))
            push.setAway(true)
            push.refuse { request in
                if request.body?.contains("poison") ?? false { return .invalid("body", "not this") }
                return request.title == "Broken" ? .internal : nil
            }
            try await scene.ann.say("before", in: scene.token)
            try await scene.ann.say("poison", in: scene.token)
            try await scene.ann.say("never yet", in: broken.token)
            try await scene.ann.say("after", in: scene.token)
            try await scene.ann.say("beside", in: other.token)

            push.setAway(false)

            try await push.has(3)
            #expect(push.taken.filter { $0.about == scene.token }.compactMap(\.body) == ["ann: before", "ann: after"])
            #expect(push.taken.filter { $0.about == other.token }.compactMap(\.body) == ["ann: beside"])
            // What push failed at by itself is kept, and tried again later.
            try await eventually { try await waiting(scene) == 1 }
        }
    }

    @Test func whatNobodyRangForIsFound() async throws {
        try await withConversation(push: push) { scene in
            // Another instance, which died before it told anybody.
            let lanes = WriteLanes(
                database: scene.service.database.pool,
                configuration: ConversationsConfiguration(),
                logger: StoreScene.logger
            )
            let token = try #require(ConversationToken(scene.token))
            let write = MessageWrite(
                conversation: token,
                sender: scene.ann.id,
                clientMessageID: "1",
                data: "is anybody there",
                mime: "text/plain",
                encoding: "utf8",
                meta: nil,
                push: nil,
                replyTo: nil
            )
            _ = try await lanes.write(.message(write))
            try await push.has(1)
            #expect(push.bodies == ["ann: is anybody there"])
        }
    }

    @Test func withoutPushWhatIsOldIsRemovedAndWithItADayLater() async throws {
        try await withStore { scene in
            for _ in 0..<4 { _ = try await scene.lanes.write(scene.draft()) }
            _ = try await scene.pool.execute(
                """
                UPDATE outbox SET written_at = now() - CASE WHEN from_seq <= 2 THEN interval '25 hours'
                    ELSE interval '1 hour' END
                """
            )
            _ = try await scene.pool.execute(
                "INSERT INTO outbox (kind, written_at) VALUES ('user.blocked', now() - interval '1 hour')"
            )
            func left() async throws -> [Int?] {
                try await scene.pool.all(
                    "SELECT from_seq FROM outbox ORDER BY outbox_id",
                    as: { try $0.decodeIfPresent("from_seq") }
                )
            }
            var outbox = Outbox(
                database: scene.pool,
                retention: 600,
                pushRetention: 86_400,
                logger: StoreScene.logger,
                now: { Date() }
            )
            try await outbox.prune()
            #expect(try await left() == [3, 4])

            outbox.pushRetention = nil
            try await outbox.prune()
            #expect(try await left().isEmpty)
        }
    }
}
