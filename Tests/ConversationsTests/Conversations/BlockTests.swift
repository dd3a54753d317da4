import ConversationsAPI
import Foundation
import HTTPTypes
import Postgres
import ServiceClient
import TestSupport
import Testing
import Wire

@testable import ConversationsServer

@Suite("Blocks") struct BlockTests {
    @Test("A blocked user cannot write in the direct conversation until unblocked")
    func blockedSender() async throws {
        try await withConversation { fixture in
            let direct = try await fixture.ana.openDirect(with: "bo")
            let path = "/conversations/\(direct.token)"
            let said = try await fixture.bo.send("before", in: direct.token)
            let retried = MessageDraft(data: "retried", clientMessageId: "1")
            let known = try await fixture.bo.conversations.send(retried, to: direct.token)

            try await fixture.ana.conversations.block("bo")

            for (method, path, body) in [
                (.post, "\(path)/messages", #"{"data": "x"}"#),
                (.patch, "\(path)/messages/\(said.id)", #"{"data": "x"}"#),
                (.put, "\(path)/messages/\(said.id)/reactions/%F0%9F%91%8D", nil),
                (.put, "\(path)/meta", #"{"meta": {"a": 1}}"#), (.put, "\(path)/label", #"{"label": "x"}"#),
            ] as [(HTTPRequest.Method, String, String?)] {
                let answer = try await fixture.bo.ask(method, path, body)
                #expect(answer.status == 403, "\(method) \(path) \(answer.text)")
                #expect(answer.problem?.code == "blocked", "\(method) \(path) \(answer.text)")
            }
            #expect(try await fixture.bo.conversations.send(retried, to: direct.token) == known)
            #expect(try await fixture.ana.conversations.conversation(direct.token).isBlockedByMe == true)
            #expect(try await fixture.ana.conversations.list().items.first?.isBlockedByMe == true)
            #expect(try await fixture.bo.conversations.conversation(direct.token).isBlockedByMe == false)
            // Ana can write. Bo can read and delete own messages. In a group both can write.
            try await fixture.ana.send("after", in: direct.token)
            try await fixture.bo.conversations.markRead(said.id, in: direct.token)
            try await fixture.bo.conversations.delete(said.id, in: direct.token)
            try await fixture.bo.send("in the group", in: fixture.token)

            try await fixture.ana.conversations.unblock("bo")
            #expect(try await fixture.bo.send("again", in: direct.token).seq == 4)
            #expect(try await fixture.ana.conversations.conversation(direct.token).isBlockedByMe == false)
        }
    }

    @Test("Removing one of two mutual blocks leaves the other one in place")
    func oneDirection() async throws {
        try await withConversation { fixture in
            let direct = try await fixture.ana.openDirect(with: "bo")
            let path = "/conversations/\(direct.token)/messages"
            try await fixture.ana.conversations.block("bo")
            try await fixture.bo.conversations.block("ana")
            #expect(try await fixture.ana.ask(.post, path, #"{"data": "x"}"#).status == 403)
            #expect(try await fixture.bo.ask(.post, path, #"{"data": "x"}"#).status == 403)

            try await fixture.ana.conversations.unblock("bo")
            #expect(try await fixture.ana.ask(.post, path, #"{"data": "x"}"#).status == 403)
            #expect(try await fixture.bo.ask(.post, path, #"{"data": "x"}"#).status == 200)
        }
    }

    @Test("A block applies in a direct conversation that is created later")
    func olderBlock() async throws {
        try await withConversation { fixture in
            try await fixture.ana.conversations.block("bo")
            let refused = try await fixture.bo.ask(
                .post,
                "/conversations/create",
                #"{"type": "direct", "members": ["ana"]}"#
            )
            #expect(refused.status == 403)
            #expect(refused.problem?.code == "blocked")

            let direct = try await fixture.ana.openDirect(with: "bo")
            #expect(direct.isBlockedByMe)
            let path = "/conversations/\(direct.token)/messages"
            #expect(try await fixture.bo.ask(.post, path, #"{"data": "x"}"#).status == 403)
            #expect(try await fixture.bo.openDirect(with: "ana").id == direct.id)
        }
    }

    @Test("Blocking twice publishes one event, and unblocking too")
    func idempotence() async throws {
        let subscribers = ["EVENT_SUBSCRIBERS": "user.blocked=photos,user.unblocked=photos"]
        try await withConversation(settings: subscribers) { fixture in
            let first = try await fixture.ana.conversations.block("bo")
            #expect(try await fixture.ana.conversations.block("bo") == first)
            try await fixture.ana.conversations.unblock("bo")
            try await fixture.ana.conversations.unblock("bo")
            try await fixture.ana.conversations.unblock("never blocked")
            #expect(try await fixture.ana.conversations.blocks().items.isEmpty)

            let published = try await fixture.service.database.pool.all(
                "SELECT type, content, key FROM event_outbox ORDER BY outbox_id",
                as: { ("\(try $0.string("type")) \(try $0.string("content"))", try $0.string("key")) }
            )
            let body = #"{"applicationId":"other","blockedId":"bo","userId":"ana"}"#
            #expect(published.map(\.0) == ["user.blocked \(body)", "user.unblocked \(body)"])
            // Events with one key keep their order.
            #expect(Set(published.map(\.1)).count == 1)
        }
    }

    @Test("The list of blocks is paged, and a cursor is valid only for its user")
    func paging() async throws {
        try await withConversation { fixture in
            let names = (1...7).map { "user/\($0)" } + ["ünï"]
            for name in names { try await fixture.ana.conversations.block(name) }
            var (found, cursor): ([String], String?) = ([], nil)
            repeat {
                let page = try await fixture.ana.conversations.blocks(limit: 3, cursor: cursor)
                found += page.items.map(\.userId)
                cursor = page.next
            } while cursor != nil
            #expect(found == names)

            let cursorOfAna = try #require(try await fixture.ana.conversations.blocks(limit: 3).next)
            #expect(try await fixture.bo.conversations.blocks().items.isEmpty)
            #expect(try await fixture.bo.ask(.get, "/blocks?cursor=\(cursorOfAna)").problem?.field == "cursor")
            let twin = try await fixture.person("ana", application: RoostApplication.id)
            #expect(try await twin.conversations.blocks().items.isEmpty)
        }
    }

    @Test("A user of Roost itself must exist to be blocked")
    func unknownUser() async throws {
        try await withConversation { fixture in
            let known = "0e9fb3a4-5f2c-4f7b-9a68-3d2b1c0f7e55"
            fixture.auth.accounts.change { $0 = [known] }
            let ana = try await fixture.person("22222222-5f2c-4f7b-9a68-3d2b1c0f7e55", application: RoostApplication.id)
            #expect(try await ana.conversations.block(known.uppercased()).userId == known)
            #expect(try await ana.ask(.put, "/blocks/11111111-5f2c-4f7b-9a68-3d2b1c0f7e55").problem?.field == "userId")
            #expect(try await ana.ask(.put, "/blocks/bo").problem?.code == "user_not_found")
            #expect(try await ana.ask(.delete, "/blocks/bo").status == 200)
        }
    }

    @Test("The internal list has all blocked and blocking users, for peer services only")
    func internalBlockList() async throws {
        try await withConversation { fixture in
            try await fixture.ana.conversations.block("eve")
            try await fixture.bo.conversations.block("ana")
            try await fixture.ana.conversations.block("bo")
            let photos = BlocksClient(try fixture.service.peerClient("photos", callee: "conversations"))

            #expect(
                try await photos.blockedPeers(from: fixture.ana.id)
                    == BlockedPeers(userIds: ["bo", "eve"], more: false)
            )
            #expect(try await photos.blockedPeers(from: fixture.ana.id, after: "bo").userIds == ["eve"])
            #expect(try await photos.blockedPeers(from: fixture.eve.id).userIds == ["ana"])
            let foreign = User.ID(application: "another", user: "ana")
            #expect(try await photos.blockedPeers(from: foreign).userIds.isEmpty)
            #expect(try await fixture.ana.ask(.get, "/internal/blocks?application=other&userId=bo").status != 200)
        }
    }

    @Test("A peer service can read the list of all blocks page by page")
    func backfillList() async throws {
        try await withConversation { fixture in
            for other in ["eve", "bo"] { try await fixture.ana.conversations.block(other) }
            try await fixture.bo.conversations.block("ana")
            let photos = BlocksClient(try fixture.service.peerClient("photos", callee: "conversations"))

            let all = try await photos.list().blocks
            #expect(all.map { [$0.userId, $0.blockedId] } == [["ana", "bo"], ["ana", "eve"], ["bo", "ana"]])
            #expect(all.allSatisfy { $0.applicationId == fixture.ana.id.application })
            for (index, block) in all.enumerated() {
                #expect(try await photos.list(after: block).blocks == Array(all.dropFirst(index + 1)))
            }
            #expect(try await fixture.ana.ask(.get, "/internal/blocks/list").status != 200)
        }
    }

    @Test("After concurrent blocking and creation, the conversation is blocked")
    func concurrency() async throws {
        try await withConversation { fixture in
            for round in 0..<6 {
                let other = try await fixture.person("other \(round)")
                try await withThrowingTaskGroup(of: Void.self) { tasks in
                    tasks.addTask { _ = try await fixture.ana.openDirect(with: "other \(round)") }
                    tasks.addTask { try await fixture.ana.conversations.block("other \(round)") }
                    tasks.addTask {
                        // Rejected if the block came first.
                        let body = #"{"type": "direct", "members": ["ana"]}"#
                        let status = try await other.ask(.post, "/conversations/create", body).status
                        #expect([200, 403].contains(status))
                    }
                    try await tasks.waitForAll()
                }
                let direct = try await fixture.ana.openDirect(with: "other \(round)")
                #expect(direct.isBlockedByMe)
                let path = "/conversations/\(direct.token)/messages"
                #expect(try await other.ask(.post, path, #"{"data": "x"}"#).status == 403)
            }
        }
    }
}
