import ConversationsAPI
import Foundation
import HTTPTypes
import Postgres
import TestSupport
import Testing
import Wire

/// Messages over sockets: delivery, history and catch-up.
@Suite("Messages over sockets") struct SocketMessageTests {
    @Test("A sent message reaches the other members and the sender's other sockets")
    func send() async throws {
        try await withSockets { fixture in
            let ana = try await fixture.socket(of: fixture.ana)
            let second = try await fixture.socket(of: fixture.ana)
            let bo = try await fixture.socket(of: fixture.bo)
            let sent = try await ana.ask(
                "messages/create",
                #"{"chatId":\#(fixture.chat),"data":"hello","mime":"text/plain","encoding":"utf8","meta":{"a":1}}"#
            )
            #expect(sent["senderUser"]["serial"].string == "ana")
            #expect(sent["seq"].int == 1)

            for socket in [bo, second] {
                let received = try await socket.event("message")
                #expect(received["id"] == sent["id"])
                #expect(received["data"].string == "hello")
                #expect(received["meta"]["a"].int == 1)
            }
            // A message sent by REST reaches every socket. An echo of the socket's own message would have come before it.
            try await fixture.bo.send("by REST", in: fixture.fixture.token)
            #expect(try await ana.event("message")["data"].string == "by REST")
            let history = try await fixture.bo.conversations.messages(fixture.fixture.token)
            #expect(history.map(\.data) == ["by REST", "hello"])
        }
    }

    /// The chats are new, so the creator's socket may not have joined yet when it sends.
    @Test("A sending socket does not receive its own message, not even in a new chat")
    func noEcho() async throws {
        try await withSockets { fixture in
            let ana = try await fixture.socket(of: fixture.ana)
            for number in 1...20 {
                let chat = try await ana.ask("chats/create", #"{"members":["bo"]}"#)
                let (id, token) = (try #require(chat["id"].int), try #require(chat["token"].string))
                #expect(try await ana.ask("messages/create", #"{"chatId":\#(id),"data":"own"}"#).code == 200)
                try await fixture.bo.send("reply \(number)", in: token)
                #expect(try await ana.event("message")["data"].string == "reply \(number)")
            }
        }
    }

    @Test("A repeated client message id returns the first message")
    func clientMessageID() async throws {
        try await withSockets { fixture in
            let socket = try await fixture.socket(of: fixture.ana)
            let draft = #"{"chatId":\#(fixture.chat),"data":"once","clientMessageId":"c-1"}"#
            let first = try await socket.ask("messages/create", draft)
            let second = try await socket.ask("messages/create", draft)
            #expect(first["id"] == second["id"])
            #expect(try await fixture.bo.conversations.messages(fixture.fixture.token).count == 1)
        }
    }

    @Test("A file sent as Base64 has the name in its metadata")
    func fileNameInMeta() async throws {
        try await withSockets { fixture in
            let socket = try await fixture.socket(of: fixture.ana)
            func name(_ meta: String) async throws -> JSONValue {
                let file = #""encoding":"base64","mime":"application/pdf","data":"JVBERi0xLjQK""#
                let answer = try await socket.ask("messages/create", #"{"chatId":\#(fixture.chat),\#(file)\#(meta)}"#)
                #expect(answer.code == 200)
                return answer["file"]["name"]
            }
            #expect(try await name(#","meta":{"name":"sampleFile.pdf"}"#) == .string("sampleFile.pdf"))
            #expect(try await name(#","meta":{"name":"../../etc/passwd"}"#) == .string("passwd"))
            #expect(try await name(#","meta":{"name":7}"#) == .null)
            #expect(try await name(#","meta":{"album":7}"#) == .null)
            #expect(try await name("") == .null)
        }
    }

    @Test("The history is paged as in diuit")
    func history() async throws {
        try await withSockets { fixture in
            let socket = try await fixture.socket(of: fixture.ana)
            for number in 1...5 { try await fixture.bo.send("\(number)", in: fixture.fixture.token) }
            func texts(_ query: String) async throws -> [String?] {
                let answer = try await socket.ask("messages/list", #"{"chatId":\#(fixture.chat)\#(query)}"#)
                return answer["messages"].array.map(\.["data"].string)
            }
            #expect(try await texts("") == ["5", "4", "3", "2", "1"])
            #expect(try await texts(#","count":2,"page":1"#) == ["3", "2"])
            #expect(try await texts(#","before":1"#) == [])
            #expect(try await texts(#","count":null,"page":null,"before":null"#).count == 5)
        }
    }

    @Test("A read mark reaches the message's sender")
    func readEvent() async throws {
        try await withSockets { fixture in
            let ana = try await fixture.socket(of: fixture.ana)
            let bo = try await fixture.socket(of: fixture.bo)
            let message = try await ana.ask("messages/create", #"{"chatId":\#(fixture.chat),"data":"read me"}"#)
            let id = try #require(message["id"].int)
            let mark = try await bo.ask("messages/markAsRead", #"{"messageId":\#(id)}"#)
            #expect(mark["seq"].int == 1)
            #expect(mark["unreadCount"].int == 0)
            #expect(mark["id"].int == id)
            #expect(mark["data"].string == "read me")
            #expect(mark["messageSeq"].int == 1)
            #expect(Set(mark["reads"].array.compactMap(\.string)) == ["ana", "bo"])
            let notice = try await ana.event("message/read")
            #expect(notice["userId"].string == "bo")
            #expect(notice["seq"].int == 1)
            #expect(notice["chatId"].int == Int(fixture.chat))
        }
    }

    @Test("Edits, reactions and deletions work over sockets")
    func amendments() async throws {
        try await withSockets { fixture in
            let ana = try await fixture.socket(of: fixture.ana)
            let bo = try await fixture.socket(of: fixture.bo)
            let sent = try await ana.ask("messages/create", #"{"chatId":\#(fixture.chat),"data":"helo"}"#)
            let id = try #require(sent["id"].int)
            // Waits for delivery, because an earlier edit might be delivered together with the message.
            #expect(try await bo.event("message")["id"].int == id)
            let edited = try await ana.ask("messages/edit", #"{"messageId":\#(id),"data":"hello"}"#)
            #expect(edited["data"].string == "hello")
            #expect(try await bo.event("message/updated")["data"].string == "hello")
            #expect(try await bo.ask("messages/edit", #"{"messageId":\#(id),"data":"x"}"#).code == 403)
            let reacted = try await bo.ask("messages/react", #"{"messageId":\#(id),"emoji":"👍"}"#)
            #expect(reacted["reactions"]["👍"].array.map(\.string) == ["bo"])
            let deleted = try await ana.ask("messages/delete", #"{"messageId":\#(id)}"#)
            #expect(deleted["deletedAt"].string != nil)
        }
    }

    @Test("A Base64 file becomes a link, and a file above the limit gets code 496")
    func base64File() async throws {
        try await withSockets { fixture in
            let ana = try await fixture.socket(of: fixture.ana)
            let bo = try await fixture.socket(of: fixture.bo)
            let bytes = Data([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) + Data(repeating: 7, count: 1_200_000)
            let payload =
                #"{"chatId":\#(fixture.chat),"mime":"image/png","encoding":"base64","data":"\#(bytes.base64EncodedString())"}"#
            let sent = try await ana.ask("messages/create", payload)

            #expect(sent.code == 200)
            #expect(sent["encoding"].string == "url")
            #expect(sent["mime"].string == "image/png")
            let received = try await bo.event("message")
            let link = try #require(received["data"].string)
            let path = try #require(link.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false).last)
            #expect(try await fixture.fixture.service.send(.get, "/\(path)").body == bytes)

            let large = Data(repeating: 7, count: 5_242_881).base64EncodedString()
            let refused = try await ana.ask(
                "messages/create",
                #"{"chatId":\#(fixture.chat),"mime":"image/png","encoding":"base64","data":"\#(large)"}"#
            )
            #expect(refused.code == 496)
        }
    }

    @Test("A direct message opens the direct chat, and is rejected across a block")
    func directMessage() async throws {
        try await withSockets { fixture in
            let ana = try await fixture.socket(of: fixture.ana)
            let bo = try await fixture.socket(of: fixture.bo)
            let first = try await ana.ask("messages/sendDirect", #"{"userId":"bo","data":"psst"}"#)
            #expect(try await bo.event("message")["data"].string == "psst")
            let answer = try await bo.ask("messages/sendDirect", #"{"userId":"ana","data":"what?"}"#)
            #expect(answer["chatId"] == first["chatId"])
            #expect(answer["seq"].int == 2)
            #expect(try await ana.ask("messages/sendDirect", #"{"userId":"ana","data":"x"}"#).code == 497)

            let chat = try #require(first["chatId"].int)
            #expect(try await bo.ask("chats/block", #"{"chatId":\#(chat)}"#)["isBlockedByMe"].bool == true)
            #expect(try await ana.ask("messages/sendDirect", #"{"userId":"bo","data":"hey"}"#).code == 403)
            #expect(try await bo.ask("chats/unblock", #"{"chatId":\#(chat)}"#)["isBlockedByMe"].bool == false)
            #expect(try await ana.ask("messages/sendDirect", #"{"userId":"bo","data":"hey"}"#).code == 200)
        }
    }

    @Test("System messages have diuit's format")
    func systemMessages() async throws {
        try await withSockets { fixture in
            let ana = try await fixture.socket(of: fixture.ana)
            let bo = try await fixture.socket(of: fixture.bo)
            let chat = #""chatId":\#(fixture.chat)"#
            func received(_ type: String) async throws -> JSONValue {
                let event = try await bo.event("message")
                #expect(event["mime"].string == "application/diuit-chat-sys-message")
                #expect(event["encoding"].string == "json")
                #expect(event["senderUser"] == .null)
                let data = try WireJSON.decoder().decode(JSONValue.self, from: Data((event["data"].string ?? "").utf8))
                #expect(data["type"].string == type)
                return data
            }
            _ = try await ana.ask("chats/addMember", #"{\#(chat),"userId":"cat"}"#)
            #expect(try await received("user.joined")["userId"].string == "cat")
            _ = try await ana.ask("chats/updateMeta", #"{\#(chat),"meta":{"a":1}}"#)
            #expect(try await received("meta.updated")["meta"]["a"].int == 1)
            _ = try await ana.ask("chats/whiteList/update", #"{\#(chat),"whiteList":["eve"]}"#)
            #expect(try await received("whiteList.updated")["whiteList"].array.map(\.string) == ["eve"])
            _ = try await ana.ask("chats/kick", #"{\#(chat),"userId":"bo"}"#)
            #expect(try await received("user.kicked")["userId"].string == "bo")
        }
    }

    @Test("Missed messages can be requested by change or by sequence")
    func sync() async throws {
        try await withSockets { fixture in
            let socket = try await fixture.socket(of: fixture.bo)
            for number in 1...3 { try await fixture.ana.send("\(number)", in: fixture.fixture.token) }
            let byChange = try await socket.ask("messages/sync", #"{"chatId":\#(fixture.chat),"after":1}"#)
            #expect(byChange["messages"].array.map(\.["data"].string) == ["2", "3"])
            #expect(byChange["more"].bool == false)
            let bySeq = try await socket.ask("messages/sync", #"{"chatId":\#(fixture.chat),"afterSeq":2}"#)
            #expect(bySeq["messages"].array.map(\.["data"].string) == ["3"])
            let ahead = try await socket.ask("messages/sync", #"{"chatId":\#(fixture.chat),"after":99}"#)
            #expect(ahead["resync"].bool == true)
            let both = #"{"chatId":\#(fixture.chat),"after":1,"afterSeq":1}"#
            #expect(try await socket.ask("messages/sync", both).code == 497)
        }
    }

    @Test("A socket that connects with `last` receives the missed messages first")
    func catchUp() async throws {
        try await withSockets { fixture in
            for number in 1...3 { try await fixture.ana.send("\(number)", in: fixture.fixture.token) }
            let auth = #"{"token":"\#(fixture.bo.token)","last":{"\#(fixture.chat)":1}}"#
            let socket = try await SocketClient(port: fixture.port, auth: auth)
            let missed = try await socket.event("messages/sync")
            #expect(missed["chatId"].int == Int(fixture.chat))
            #expect(missed["messages"].array.map(\.["data"].string) == ["2", "3"])
            #expect(try await socket.event("authenticate").code == 200)
            try await fixture.ana.send("4", in: fixture.fixture.token)
            #expect(try await socket.event("message")["data"].string == "4")

            let wrong = try await SocketClient(port: fixture.port, auth: #"{"token":"x","last":{"a":1}}"#)
            #expect(try await wrong.reply().contains(#""code":497"#))
        }
    }
}
