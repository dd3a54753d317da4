import ConversationsAPI
import Foundation
import HTTPTypes
import Postgres
import TestSupport
import Testing
import Wire

/// What diuit's clients do, seen through the other door as well.
@Suite struct SocketChatTests {
    @Test func aChatHasTheShapeThatDiuitGaveIt() async throws {
        try await withSockets { scene in
            let socket = try await scene.socket(of: scene.ann)
            let chat = try await socket.ask("chats/create", #"{"members":["bob","cat"],"meta":{"name":"Walks"}}"#)

            #expect(chat["type"].string == "group")
            #expect(chat["members"].array.map(\.string) == ["ann", "bob", "cat"])
            #expect(chat["whiteList"] == .null)
            #expect(chat["meta"]["name"].string == "Walks")
            #expect(chat["pushEnabled"].bool == true)
            #expect(chat["unreadCount"].int == 0)
            #expect(chat["lastMessage"] == .null)
            #expect(chat["isBlockedByMe"].bool == false)

            let token = try #require(chat["token"].string)
            let seen = try await scene.bob.conversations.conversation(token)
            #expect(seen.id.rawValue == chat["id"].int.map { Int64($0) })
            #expect(seen.joinByToken == false)
        }
    }

    @Test func byItsIDAChatIsJoinedByWhomTheWhiteListAdmits() async throws {
        try await withSockets { scene in
            let ann = try await scene.socket(of: scene.ann)
            let eve = try await scene.socket(of: scene.eve)
            for (list, code) in [("null", 200), (#"["eve"]"#, 200), ("[]", 495), (#"["bob"]"#, 495)] {
                let chat = try await ann.ask("chats/create", #"{"whiteList":\#(list)}"#)
                let id = try #require(chat["id"].int)
                let joined = try await eve.ask("chats/join", #"{"chatId":\#(id)}"#)
                #expect(joined.code == code, "\(list)")
                if code == 200 { #expect(joined["members"].array.map(\.string) == ["ann", "eve"]) }
            }
            // That the token would admit her does not help who has not got it.
            #expect(try await eve.ask("chats/join", #"{"chatId":\#(scene.chat)}"#).code == 495)
            try await scene.eve.conversations.join(scene.scene.token)
            #expect(try await eve.ask("chats/join", #"{"chatId":\#(scene.chat)}"#).code == 200)
        }
    }

    @Test func aRenewedTokenIsFoundByTheID() async throws {
        try await withSockets { scene in
            let socket = try await scene.socket(of: scene.ann)
            let detail = #"{"chatId":\#(scene.chat)}"#
            #expect(try await socket.ask("chats/detail", detail)["token"].string == scene.scene.token)
            let renewed = try await scene.ann.conversations.renewToken(scene.scene.token).token
            #expect(try await socket.ask("chats/detail", detail)["token"].string == renewed)
            #expect(try await socket.ask("messages/create", #"{"chatId":\#(scene.chat),"data":"x"}"#).code == 200)
        }
    }

    @Test func chatsAreListedByTheirType() async throws {
        try await withSockets { scene in
            let direct = try await scene.direct()
            let socket = try await scene.socket(of: scene.ann)
            func ids(_ query: String) async throws -> Set<Int> {
                Set(try await socket.ask("chats/list", query)["chats"].array.compactMap { $0["id"].int })
            }
            #expect(try await ids("{}") == [Int(scene.chat), Int(direct)])
            #expect(try await ids(#"{"type":"group"}"#) == [Int(scene.chat)])
            #expect(try await ids(#"{"type":"direct"}"#) == [Int(direct)])

            let first = try await socket.ask("chats/list", #"{"limit":1}"#)
            let next = try #require(first["next"].string)
            let second = try await socket.ask("chats/list", #"{"limit":1,"cursor":"\#(next)"}"#)
            #expect(first["chats"].array.count + second["chats"].array.count == 2)
            #expect(second["next"] == .null)
        }
    }

    @Test func aMessageReachesTheOthersAndTheSenderHasItAsAnswer() async throws {
        try await withSockets { scene in
            let ann = try await scene.socket(of: scene.ann)
            let second = try await scene.socket(of: scene.ann)
            let bob = try await scene.socket(of: scene.bob)
            let sent = try await ann.ask(
                "messages/create",
                #"{"chatId":\#(scene.chat),"data":"hello","mime":"text/plain","encoding":"utf8","meta":{"a":1}}"#
            )
            #expect(sent["senderUser"]["serial"].string == "ann")
            #expect(sent["seq"].int == 1)

            for socket in [bob, second] {
                let heard = try await socket.event("message")
                #expect(heard["id"] == sent["id"])
                #expect(heard["data"].string == "hello")
                #expect(heard["meta"]["a"].int == 1)
            }
            // What was said by REST comes to both; it would have come after its own.
            try await scene.bob.say("by REST", in: scene.scene.token)
            #expect(try await ann.event("message")["data"].string == "by REST")
            let history = try await scene.bob.conversations.messages(scene.scene.token)
            #expect(history.map(\.data) == ["by REST", "hello"])
        }
    }

    /// In a chat that was made just now, too, which its maker may not hear yet when he writes in it.
    @Test func nobodyIsToldWhatHeSaidHimself() async throws {
        try await withSockets { scene in
            let ann = try await scene.socket(of: scene.ann)
            for number in 1...20 {
                let chat = try await ann.ask("chats/create", #"{"members":["bob"]}"#)
                let (id, token) = (try #require(chat["id"].int), try #require(chat["token"].string))
                #expect(try await ann.ask("messages/create", #"{"chatId":\#(id),"data":"own"}"#).code == 200)
                try await scene.bob.say("his \(number)", in: token)
                #expect(try await ann.event("message")["data"].string == "his \(number)")
            }
        }
    }

    @Test func theSameDraftTwiceIsOneMessage() async throws {
        try await withSockets { scene in
            let socket = try await scene.socket(of: scene.ann)
            let draft = #"{"chatId":\#(scene.chat),"data":"once","clientMessageId":"c-1"}"#
            let first = try await socket.ask("messages/create", draft)
            let second = try await socket.ask("messages/create", draft)
            #expect(first["id"] == second["id"])
            #expect(try await scene.bob.conversations.messages(scene.scene.token).count == 1)
        }
    }

    @Test func historyIsPagedAsDiuitPagesIt() async throws {
        try await withSockets { scene in
            let socket = try await scene.socket(of: scene.ann)
            for number in 1...5 { try await scene.bob.say("\(number)", in: scene.scene.token) }
            func texts(_ query: String) async throws -> [String?] {
                let answer = try await socket.ask("messages/list", #"{"chatId":\#(scene.chat)\#(query)}"#)
                return answer["messages"].array.map(\.["data"].string)
            }
            #expect(try await texts("") == ["5", "4", "3", "2", "1"])
            #expect(try await texts(#","count":2,"page":1"#) == ["3", "2"])
            #expect(try await texts(#","before":1"#) == [])
            #expect(try await texts(#","count":null,"page":null,"before":null"#).count == 5)
        }
    }

    @Test func whatIsReadIsTold() async throws {
        try await withSockets { scene in
            let ann = try await scene.socket(of: scene.ann)
            let bob = try await scene.socket(of: scene.bob)
            let message = try await ann.ask("messages/create", #"{"chatId":\#(scene.chat),"data":"read me"}"#)
            let id = try #require(message["id"].int)
            let mark = try await bob.ask("messages/markAsRead", #"{"messageId":\#(id)}"#)
            #expect(mark["seq"].int == 1)
            #expect(mark["unreadCount"].int == 0)
            let told = try await ann.event("message/read")
            #expect(told["userId"].string == "bob")
            #expect(told["seq"].int == 1)
            #expect(told["chatId"].int == Int(scene.chat))
        }
    }

    @Test func whatBecomesOfAMessageIsTold() async throws {
        try await withSockets { scene in
            let ann = try await scene.socket(of: scene.ann)
            let bob = try await scene.socket(of: scene.bob)
            let sent = try await ann.ask("messages/create", #"{"chatId":\#(scene.chat),"data":"helo"}"#)
            let id = try #require(sent["id"].int)
            let edited = try await ann.ask("messages/edit", #"{"messageId":\#(id),"data":"hello"}"#)
            #expect(edited["data"].string == "hello")
            #expect(try await bob.event("message/updated")["data"].string == "hello")
            #expect(try await bob.ask("messages/edit", #"{"messageId":\#(id),"data":"x"}"#).code == 403)
            let reacted = try await bob.ask("messages/react", #"{"messageId":\#(id),"emoji":"👍"}"#)
            #expect(reacted["reactions"]["👍"].array.map(\.string) == ["bob"])
            let deleted = try await ann.ask("messages/delete", #"{"messageId":\#(id)}"#)
            #expect(deleted["deletedAt"].string != nil)
        }
    }

    @Test func aFileAsBase64BecomesALink() async throws {
        try await withSockets { scene in
            let ann = try await scene.socket(of: scene.ann)
            let bob = try await scene.socket(of: scene.bob)
            let bytes = Data([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) + Data(repeating: 7, count: 1_200_000)
            let payload =
                #"{"chatId":\#(scene.chat),"mime":"image/png","encoding":"base64","data":"\#(bytes.base64EncodedString())"}"#
            let sent = try await ann.ask("messages/create", payload)

            #expect(sent.code == 200)
            #expect(sent["encoding"].string == "url")
            #expect(sent["mime"].string == "image/png")
            let heard = try await bob.event("message")
            let link = try #require(heard["data"].string)
            let path = try #require(link.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false).last)
            #expect(try await scene.scene.service.send(.get, "/\(path)").body == bytes)

            let large = Data(repeating: 7, count: 5_242_881).base64EncodedString()
            let refused = try await ann.ask(
                "messages/create",
                #"{"chatId":\#(scene.chat),"mime":"image/png","encoding":"base64","data":"\#(large)"}"#
            )
            #expect(refused.code == 496)
        }
    }

    @Test func whatIsSaidToSomebodyIsSaidInTheChatOfTheTwo() async throws {
        try await withSockets { scene in
            let ann = try await scene.socket(of: scene.ann)
            let bob = try await scene.socket(of: scene.bob)
            let first = try await ann.ask("messages/sendDirect", #"{"userId":"bob","data":"psst"}"#)
            #expect(try await bob.event("message")["data"].string == "psst")
            let answer = try await bob.ask("messages/sendDirect", #"{"userId":"ann","data":"what?"}"#)
            #expect(answer["chatId"] == first["chatId"])
            #expect(answer["seq"].int == 2)
            #expect(try await ann.ask("messages/sendDirect", #"{"userId":"ann","data":"x"}"#).code == 497)

            let chat = try #require(first["chatId"].int)
            #expect(try await bob.ask("chats/block", #"{"chatId":\#(chat)}"#)["isBlockedByMe"].bool == true)
            #expect(try await ann.ask("messages/sendDirect", #"{"userId":"bob","data":"hey"}"#).code == 403)
            #expect(try await bob.ask("chats/unblock", #"{"chatId":\#(chat)}"#)["isBlockedByMe"].bool == false)
            #expect(try await ann.ask("messages/sendDirect", #"{"userId":"bob","data":"hey"}"#).code == 200)
        }
    }

    @Test func systemMessagesComeInDiuitsEnvelope() async throws {
        try await withSockets { scene in
            let ann = try await scene.socket(of: scene.ann)
            let bob = try await scene.socket(of: scene.bob)
            let chat = #""chatId":\#(scene.chat)"#
            func heard(_ type: String) async throws -> JSONValue {
                let event = try await bob.event("message")
                #expect(event["mime"].string == "application/diuit-chat-sys-message")
                #expect(event["encoding"].string == "json")
                #expect(event["senderUser"] == .null)
                let data = try JSONDecoder().decode(JSONValue.self, from: Data((event["data"].string ?? "").utf8))
                #expect(data["type"].string == type)
                return data
            }
            _ = try await ann.ask("chats/addMember", #"{\#(chat),"userId":"cat"}"#)
            #expect(try await heard("user.joined")["userId"].string == "cat")
            _ = try await ann.ask("chats/updateMeta", #"{\#(chat),"meta":{"a":1}}"#)
            #expect(try await heard("meta.updated")["meta"]["a"].int == 1)
            _ = try await ann.ask("chats/whiteList/update", #"{\#(chat),"whiteList":["eve"]}"#)
            #expect(try await heard("whiteList.updated")["whiteList"].array.map(\.string) == ["eve"])
            _ = try await ann.ask("chats/kick", #"{\#(chat),"userId":"bob"}"#)
            #expect(try await heard("user.kicked")["userId"].string == "bob")
        }
    }

    @Test func whatWasMissedIsToldFromAChangeOrASeq() async throws {
        try await withSockets { scene in
            let socket = try await scene.socket(of: scene.bob)
            for number in 1...3 { try await scene.ann.say("\(number)", in: scene.scene.token) }
            let byChange = try await socket.ask("messages/sync", #"{"chatId":\#(scene.chat),"after":1}"#)
            #expect(byChange["messages"].array.map(\.["data"].string) == ["2", "3"])
            #expect(byChange["more"].bool == false)
            let bySeq = try await socket.ask("messages/sync", #"{"chatId":\#(scene.chat),"afterSeq":2}"#)
            #expect(bySeq["messages"].array.map(\.["data"].string) == ["3"])
            let ahead = try await socket.ask("messages/sync", #"{"chatId":\#(scene.chat),"after":99}"#)
            #expect(ahead["resync"].bool == true)
            let both = #"{"chatId":\#(scene.chat),"after":1,"afterSeq":1}"#
            #expect(try await socket.ask("messages/sync", both).code == 497)
        }
    }

    @Test func whoComesBackIsToldWhatHeMissed() async throws {
        try await withSockets { scene in
            for number in 1...3 { try await scene.ann.say("\(number)", in: scene.scene.token) }
            let auth = #"{"token":"\#(scene.bob.token)","last":{"\#(scene.chat)":1}}"#
            let socket = try await SocketClient(port: scene.port, auth: auth)
            let missed = try await socket.event("messages/sync")
            #expect(missed["chatId"].int == Int(scene.chat))
            #expect(missed["messages"].array.map(\.["data"].string) == ["2", "3"])
            #expect(try await socket.event("authenticate").code == 200)
            try await scene.ann.say("4", in: scene.scene.token)
            #expect(try await socket.event("message")["data"].string == "4")

            let wrong = try await SocketClient(port: scene.port, auth: #"{"token":"x","last":{"a":1}}"#)
            #expect(try await wrong.reply().contains(#""code":497"#))
        }
    }

    @Test func whoWritesIsToldToTheOthers() async throws {
        try await withSockets { scene in
            let ann = try await scene.socket(of: scene.ann)
            let bob = try await scene.socket(of: scene.bob)
            #expect(try await ann.ask("chats/typing", #"{"chatId":\#(scene.chat)}"#).code == 200)
            let typing = try await bob.event("typing")
            #expect(typing["userId"].string == "ann")
            #expect(typing["chatId"].int == Int(scene.chat))
        }
    }

    @Test func whoIsThereIsToldWithTheChat() async throws {
        try await withSockets { scene in
            let ann = try await scene.socket(of: scene.ann)
            _ = try await scene.socket(of: scene.bob)
            try await eventually {
                let detail = try await ann.ask("chats/detail", #"{"chatId":\#(scene.chat)}"#)
                return detail["presences"].array.contains {
                    $0["userId"].string == "bob" && $0["status"].string == "online"
                }
            }
        }
    }

    @Test func whatSomebodySaysOfHimselfIsWithHisMessages() async throws {
        try await withSockets { scene in
            let ann = try await scene.socket(of: scene.ann)
            try await scene.ann.say("before", in: scene.scene.token)
            let owner = try await ann.ask("users/updateMeta", #"{"meta":{"name":"Ann"}}"#)
            #expect(owner["meta"]["name"].string == "Ann")
            #expect(owner["serial"].string == "ann")
            let sent = try await ann.ask("messages/create", #"{"chatId":\#(scene.chat),"data":"after"}"#)
            #expect(sent["senderUser"]["meta"]["name"].string == "Ann")
            let history = try await scene.bob.conversations.messages(scene.scene.token)
            #expect(history.allSatisfy { $0.senderUser?.meta?["name"].string == "Ann" })
            #expect(try await ann.ask("users/updateMeta", #"{"meta":null}"#)["meta"] == .null)
            #expect(try await scene.bob.conversations.messages(scene.scene.token)[0].senderUser?.meta == nil)
        }
    }

    @Test func devicesSayHowTheyAreNotified() async throws {
        let subscribers = "device.registered=push,device.badge=push"
        try await withSockets(settings: ["EVENT_SUBSCRIBERS": subscribers]) { scene in
            let socket = try await scene.socket(of: scene.ann)
            // Nobody knows yet what kind of token it is.
            #expect(try await socket.ask("devices/updatePushToken", #"{"pushToken":"x"}"#).code == 497)
            #expect(try await socket.ask("devices/updatePushToken", #"{"pushToken":"x","platform":"fax"}"#).code == 497)
            let token = #"{"pushToken":"<ab cd>","platform":"ios_sandbox"}"#
            let device = try await socket.ask("devices/updatePushToken", token)
            #expect(device["platform"].string == "ios_sandbox")
            #expect(device["status"].string == "registered")
            #expect(try await socket.ask("devices/updatePushToken", #"{"pushToken":"ef"}"#).code == 200)
            #expect(try await socket.ask("devices/setBadge", #"{"badge":7}"#).code == 200)
            let rows = try await scene.scene.service.database.pool.all(
                "SELECT concat_ws(' ', user_id, platform, push_token, badge) AS row FROM devices",
                as: { try $0.string("row") }
            )
            #expect(rows == ["ann ios_sandbox ef 7"])
            let told = try await scene.scene.service.database.pool.all(
                "SELECT type, content FROM event_outbox WHERE subscriber = 'push' ORDER BY outbox_id",
                as: { "\(try $0.string("type")) \(try $0.string("content"))" }
            )
            #expect(told.count == 3)
            #expect(told[0].hasPrefix("device.registered") && told[0].contains(#""pushToken":"abcd""#))
            #expect(told[2].hasPrefix("device.badge") && told[2].contains(#""badge":7"#))
        }
    }
}
