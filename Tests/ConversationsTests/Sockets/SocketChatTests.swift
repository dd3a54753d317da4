import ConversationsAPI
import Foundation
import HTTPTypes
import Postgres
import TestSupport
import Testing
import Wire

/// Chats over the socket interface of diuit, compared with REST.
@Suite("Chats over sockets") struct SocketChatTests {
    @Test("A chat has diuit's fields")
    func shape() async throws {
        try await withSockets { fixture in
            let socket = try await fixture.socket(of: fixture.ana)
            let chat = try await socket.ask("chats/create", #"{"members":["bo","cat"],"meta":{"name":"Walks"}}"#)

            #expect(chat["type"].string == "group")
            #expect(chat["members"].array.map(\.string) == ["ana", "bo", "cat"])
            #expect(chat["whiteList"] == .null)
            #expect(chat["meta"]["name"].string == "Walks")
            #expect(chat["pushEnabled"].bool == true)
            #expect(chat["unreadCount"].int == 0)
            #expect(chat["lastMessage"] == .null)
            #expect(chat["isBlockedByMe"].bool == false)

            let token = try #require(chat["token"].string)
            let seen = try await fixture.bo.conversations.conversation(token)
            #expect(seen.id.rawValue == chat["id"].int.map { Int64($0) })
            #expect(seen.joinByToken == false)
        }
    }

    @Test("The white list decides whether a user can join by id; the token alone is not enough")
    func joinByID() async throws {
        try await withSockets { fixture in
            let ana = try await fixture.socket(of: fixture.ana)
            let eve = try await fixture.socket(of: fixture.eve)
            for (list, code) in [("null", 200), (#"["eve"]"#, 200), ("[]", 495), (#"["bo"]"#, 495)] {
                let chat = try await ana.ask("chats/create", #"{"whiteList":\#(list)}"#)
                let id = try #require(chat["id"].int)
                let joined = try await eve.ask("chats/join", #"{"chatId":\#(id)}"#)
                #expect(joined.code == code, "\(list)")
                if code == 200 { #expect(joined["members"].array.map(\.string) == ["ana", "eve"]) }
            }
            // The token would admit Eve, but `chats/join` does not contain it.
            #expect(try await eve.ask("chats/join", #"{"chatId":\#(fixture.chat)}"#).code == 495)
            try await fixture.eve.conversations.join(fixture.fixture.token)
            #expect(try await eve.ask("chats/join", #"{"chatId":\#(fixture.chat)}"#).code == 200)
        }
    }

    @Test("A renewed token is found by the chat's id")
    func renewedToken() async throws {
        try await withSockets { fixture in
            let socket = try await fixture.socket(of: fixture.ana)
            let detail = #"{"chatId":\#(fixture.chat)}"#
            #expect(try await socket.ask("chats/detail", detail)["token"].string == fixture.fixture.token)
            let renewed = try await fixture.ana.conversations.renewToken(fixture.fixture.token).token
            #expect(try await socket.ask("chats/detail", detail)["token"].string == renewed)
            #expect(try await socket.ask("messages/create", #"{"chatId":\#(fixture.chat),"data":"x"}"#).code == 200)
        }
    }

    @Test("Chats can be listed by type and page by page")
    func listByType() async throws {
        try await withSockets { fixture in
            let direct = try await fixture.direct()
            let socket = try await fixture.socket(of: fixture.ana)
            func ids(_ query: String) async throws -> Set<Int> {
                Set(try await socket.ask("chats/list", query)["chats"].array.compactMap { $0["id"].int })
            }
            #expect(try await ids("{}") == [Int(fixture.chat), Int(direct)])
            #expect(try await ids(#"{"type":"group"}"#) == [Int(fixture.chat)])
            #expect(try await ids(#"{"type":"direct"}"#) == [Int(direct)])

            let first = try await socket.ask("chats/list", #"{"limit":1}"#)
            let next = try #require(first["next"].string)
            let second = try await socket.ask("chats/list", #"{"limit":1,"cursor":"\#(next)"}"#)
            #expect(first["chats"].array.count + second["chats"].array.count == 2)
            #expect(second["next"] == .null)
        }
    }

    @Test("A typing event reaches the other member")
    func typingEvent() async throws {
        try await withSockets { fixture in
            let ana = try await fixture.socket(of: fixture.ana)
            let bo = try await fixture.socket(of: fixture.bo)
            #expect(try await ana.ask("chats/typing", #"{"chatId":\#(fixture.chat)}"#).code == 200)
            let typing = try await bo.event("typing")
            #expect(typing["userId"].string == "ana")
            #expect(typing["chatId"].int == Int(fixture.chat))
        }
    }

    @Test("The details of a chat contain presences")
    func presencesInDetail() async throws {
        try await withSockets { fixture in
            let ana = try await fixture.socket(of: fixture.ana)
            _ = try await fixture.socket(of: fixture.bo)
            try await eventually {
                let detail = try await ana.ask("chats/detail", #"{"chatId":\#(fixture.chat)}"#)
                return detail["presences"].array.contains {
                    $0["userId"].string == "bo" && $0["status"].string == "online"
                }
            }
        }
    }

    @Test("Only an admin can update the white list, and every member receives the change")
    func whiteList() async throws {
        try await withSockets { fixture in
            let ana = try await fixture.socket(of: fixture.ana)
            let bo = try await fixture.socket(of: fixture.bo)
            for event in ["chats/whiteList/update", "chat/whiteList/update"] {
                let body = #"{"chatId":\#(fixture.chat),"whiteList":["bo"]}"#
                #expect(try await bo.ask(event, body).code == 403)
            }
            let before: JSONValue = try await ana.ask("chats/detail", #"{"chatId":\#(fixture.chat)}"#)["whiteList"]

            let changed = try await ana.ask(
                "chats/whiteList/update",
                #"{"chatId":\#(fixture.chat),"whiteList":["eve"]}"#
            )

            #expect(before == .array([]))
            #expect(changed["whiteList"] == .array([.string("eve")]))
            let notice = try await bo.event("message")
            #expect(notice["data"].string == #"{"type":"whiteList.updated","whiteList":["eve"]}"#)
        }
    }

    @Test("A user's metadata is part of their messages")
    func senderMeta() async throws {
        try await withSockets { fixture in
            let ana = try await fixture.socket(of: fixture.ana)
            try await fixture.ana.send("before", in: fixture.fixture.token)
            let owner = try await ana.ask("users/updateMeta", #"{"meta":{"name":"Ana"}}"#)
            #expect(owner["meta"]["name"].string == "Ana")
            #expect(owner["serial"].string == "ana")
            let sent = try await ana.ask("messages/create", #"{"chatId":\#(fixture.chat),"data":"after"}"#)
            #expect(sent["senderUser"]["meta"]["name"].string == "Ana")
            let history = try await fixture.bo.conversations.messages(fixture.fixture.token)
            #expect(history.allSatisfy { $0.senderUser?.meta?["name"].string == "Ana" })
            #expect(try await ana.ask("users/updateMeta", #"{"meta":null}"#)["meta"] == .null)
            #expect(try await fixture.bo.conversations.messages(fixture.fixture.token)[0].senderUser?.meta == nil)
        }
    }

    @Test("A device registers its push token and badge, and push receives both")
    func pushRegistration() async throws {
        let subscribers = "device.registered=push,device.badge=push"
        try await withSockets(settings: ["EVENT_SUBSCRIBERS": subscribers]) { fixture in
            let socket = try await fixture.socket(of: fixture.ana)
            // The token's platform is not known yet.
            #expect(try await socket.ask("devices/updatePushToken", #"{"pushToken":"x"}"#).code == 497)
            #expect(try await socket.ask("devices/updatePushToken", #"{"pushToken":"x","platform":"fax"}"#).code == 497)
            let token = #"{"pushToken":"<ab cd>","platform":"ios_sandbox"}"#
            let device = try await socket.ask("devices/updatePushToken", token)
            #expect(device["platform"].string == "ios_sandbox")
            #expect(device["status"].string == "registered")
            #expect(try await socket.ask("devices/updatePushToken", #"{"pushToken":"ef"}"#).code == 200)
            #expect(try await socket.ask("devices/setBadge", #"{"badge":7}"#).code == 200)
            let rows = try await fixture.fixture.service.database.pool.all(
                "SELECT concat_ws(' ', user_id, platform, push_token, badge) AS row FROM devices",
                as: { try $0.string("row") }
            )
            #expect(rows == ["ana ios_sandbox ef 7"])
            let published = try await fixture.fixture.service.database.pool.all(
                "SELECT type, content FROM event_outbox WHERE subscriber = 'push' ORDER BY outbox_id",
                as: { "\(try $0.string("type")) \(try $0.string("content"))" }
            )
            #expect(published.count == 3)
            #expect(published[0].hasPrefix("device.registered"))
            #expect(published[0].contains(#""pushToken":"abcd""#))
            #expect(published[2].hasPrefix("device.badge"))
            #expect(published[2].contains(#""badge":7"#))
        }
    }
}
