import ConversationsAPI
import Foundation
import Postgres
import TestSupport
import Testing
import Wire

@testable import ConversationsServer

/// Every event with its names, codes and invalid payloads.
@Suite("Socket events") struct SocketEventTests {
    /// Each event with a payload that is valid in the fixture; `CHAT`, `MESSAGE` and `DIRECT` stand for ids.
    static let events: [(name: String, payload: String)] = [
        ("chats/list", "{}"),
        ("chats/create", #"{"members":["bo"],"whiteList":null,"meta":{"name":"x"}}"#),
        ("chats/join", #"{"chatId":CHAT}"#),
        ("chats/detail", #"{"chatId":CHAT}"#),
        ("chats/addMember", #"{"chatId":CHAT,"userId":"cat"}"#),
        ("chat/kick", #"{"chatId":CHAT,"userId":"cat"}"#),
        ("chats/addMember", #"{"chatId":CHAT,"userId":"dan"}"#),
        ("chats/kick", #"{"chatId":CHAT,"userId":"dan"}"#),
        ("chats/meta/update", #"{"chatId":CHAT,"meta":{"a":1}}"#),
        ("chats/updateMeta", #"{"chatId":CHAT,"meta":{"a":2}}"#),
        ("chats/whiteList/update", #"{"chatId":CHAT,"whiteList":["cat"]}"#),
        ("chat/whiteList/update", #"{"chatId":CHAT,"whiteList":null}"#),
        ("chats/subscribe", #"{"chatId":CHAT}"#),
        ("chats/unsubscribe", #"{"chatId":CHAT}"#),
        ("chats/block", #"{"chatId":DIRECT}"#),
        ("chats/unblock", #"{"chatId":DIRECT}"#),
        ("chats/typing", #"{"chatId":CHAT}"#),
        ("messages/create", #"{"chatId":CHAT,"data":"hello","mime":"text/plain","encoding":"utf8","meta":{"m":1}}"#),
        ("messages/sendDirect", #"{"userId":"bo","data":"hello"}"#),
        ("messages/list", #"{"chatId":CHAT,"page":0,"count":5,"before":4000000000}"#),
        ("messages/markAsRead", #"{"messageId":MESSAGE}"#),
        ("messages/markAllAsReadBefore", #"{"chatId":CHAT,"before":4000000000.5}"#),
        ("messages/edit", #"{"messageId":MESSAGE,"data":"edited"}"#),
        ("messages/react", #"{"messageId":MESSAGE,"emoji":"👍"}"#),
        ("messages/react", #"{"messageId":MESSAGE,"emoji":"👍","remove":true}"#),
        ("messages/delete", #"{"messageId":MESSAGE}"#),
        ("messages/sync", #"{"chatId":CHAT,"after":0}"#),
        ("messages/sync", #"{"chatId":CHAT,"afterSeq":0}"#),
        ("devices/updatePushToken", #"{"pushToken":"<a b>c","platform":"gcm"}"#),
        ("devices/setBadge", #"{"badge":3}"#),
        ("users/updateMeta", #"{"meta":{"name":"Ana"}}"#),
        ("chats/leave", #"{"chatId":CHAT}"#),
    ]

    /// Replaces the placeholders of a payload with ids.
    private func filled(_ payload: String, _ fixture: SocketFixture, _ message: Message.ID, _ direct: Int64) -> String {
        payload.replacing("CHAT", with: "\(fixture.chat)").replacing("MESSAGE", with: "\(message)")
            .replacing("DIRECT", with: "\(direct)")
    }

    @Test("Every event is answered under each of its names")
    func names() async throws {
        try await withSockets { fixture in
            let message = try await fixture.ana.send("first", in: fixture.fixture.token).id
            let direct = try await fixture.direct()
            let socket = try await fixture.socket(of: fixture.ana)
            for event in Self.events {
                let answer = try await socket.ask(event.name, filled(event.payload, fixture, message, direct))
                #expect(answer.code == 200, "\(event.name) \(answer)")
            }
        }
    }

    @Test("`docs/socket-events.md` documents every event")
    func documentation() throws {
        let documented = Set(Self.events.map(\.name))
        #expect(documented.count == 29)
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(
            path: "../../../docs/socket-events.md"
        )
        let page = try String(contentsOf: file.standardizedFileURL, encoding: .utf8)
        for name in documented.union(["authenticate"]) { #expect(page.contains("`\(name)`"), "\(name)") }
    }

    @Test("A request without an acknowledgement is answered by an event with its name")
    func responseByEvent() async throws {
        try await withSockets { fixture in
            let socket = try await fixture.stranger()
            try await socket.say("chats/list")
            #expect(try await socket.event("chats/list").code == 498)
            try await socket.say("authenticate", #"{"authToken":"\#(fixture.ana.token)"}"#)
            #expect(try await socket.event("authenticate")["owner"]["serial"].string == "ana")
            try await socket.say("chats/list", nil)
            #expect(try await socket.event("chats/list")["chats"].array.count == 1)
        }
    }

    @Test("An unknown event gets code 497")
    func unknownEvent() async throws {
        try await withSockets { fixture in
            let socket = try await fixture.socket(of: fixture.ana)
            #expect(try await socket.ask("chats/explode").code == 497)
            try await socket.say("chats/explode")
            #expect(try await socket.ask("chats/list").code == 200)
        }
    }

    /// The values are missing, null, mistyped, out of range, too deep or contain NUL.
    @Test(
        "An invalid payload gets code 495 or 497 and changes nothing",
        arguments: events.map(\.name).reduce(into: [String]()) { if !$0.contains($1) { $0.append($1) } }
    )
    func invalidPayload(_ event: String) async throws {
        try await withSockets { fixture in
            let socket = try await fixture.socket(of: fixture.ana)
            let deep =
                #"{"chatId":\#(fixture.chat),"meta":\#(String(repeating: "[", count: 65))1\#(String(repeating: "]", count: 65))}"#
            let before = try await fixture.rows()
            for payload in [
                nil, "null", "{}", "[]", "7", #""x""#, "true", #"{"chatId":null}"#,
                #"{"chatId":"1","userId":1,"messageId":"x"}"#,
                #"{"chatId":{},"userId":{},"messageId":[],"meta":7,"whiteList":7,"data":7,"badge":"x","pushToken":7,"type":7}"#,
                #"{"chatId":-1,"userId":"","messageId":-1,"data":"","badge":-1,"pushToken":"","type":"x","meta":[]}"#,
                #"{"chatId":9007199254740993,"userId":"a\u0000b","messageId":9007199254740993,"meta":{"a":"\u0000"}}"#,
                #"{"chatId":1.5,"messageId":1.5,"badge":1.5,"limit":1.5,"members":7}"#, deep,
                #"{"chatId":\#(fixture.chat),"messageId":32,"limit":0,"count":0,"page":-1,"before":"x","after":-1,"members":[1]}"#,
            ] {
                let answer = try await socket.ask(event, payload)
                guard answer.code == 200 else {
                    #expect([495, 497].contains(answer.code), "\(payload ?? "nothing") \(answer)")
                    #expect(answer["error"].string?.isEmpty == false)
                    continue
                }
                #expect(Self.acceptsEmptyPayload.contains(event), "\(payload ?? "nothing") \(answer)")
            }
            if !Self.acceptsEmptyPayload.contains(event) { #expect(try await fixture.rows() == before) }
        }
    }

    /// The events that are valid without a payload, or with a chat's id alone.
    private static let acceptsEmptyPayload: Set<String> = [
        "chats/list", "chats/create", "chats/join", "chats/leave", "chats/detail", "chats/subscribe",
        "chats/unsubscribe", "chats/typing", "users/updateMeta",
    ]

    @Test("A stranger gets code 495 for every event of a chat or message")
    func nonMember() async throws {
        try await withSockets { fixture in
            let message = try await fixture.ana.send("first", in: fixture.fixture.token).id
            let direct = try await fixture.direct()
            let eve = try await fixture.socket(of: fixture.eve)
            let foreigner = try await fixture.socket(
                of: fixture.fixture.person("ana", application: RoostApplication.id)
            )
            for event in Self.events where event.payload.contains("CHAT") || event.payload.contains("MESSAGE") {
                for socket in [eve, foreigner] {
                    let payload = filled(event.payload, fixture, message, direct)
                    #expect(try await socket.ask(event.name, payload).code == 495, "\(event.name)")
                }
            }
        }
    }

    @Test("Group events get code 480 in a direct chat, and `chats/block` code 497 in a group")
    func groupOnly() async throws {
        try await withSockets { fixture in
            let direct = try await fixture.direct()
            let socket = try await fixture.socket(of: fixture.ana)
            for (event, more) in [
                ("chats/leave", ""), ("chats/kick", #","userId":"bo""#), ("chat/kick", #","userId":"bo""#),
                ("chats/addMember", #","userId":"cat""#), ("chats/whiteList/update", #","whiteList":[]"#),
            ] {
                #expect(try await socket.ask(event, #"{"chatId":\#(direct)\#(more)}"#).code == 480, "\(event)")
            }
            let create = #"{"type":"direct","members":["bo"],"whiteList":[]}"#
            #expect(try await socket.ask("chats/create", create).code == 480)
            // A block is possible only in a direct chat.
            #expect(try await socket.ask("chats/block", #"{"chatId":\#(fixture.chat)}"#).code == 497)
        }
    }

    @Test("Metadata above the size limit gets code 460")
    func metaLimit() async throws {
        try await withSockets { fixture in
            let socket = try await fixture.socket(of: fixture.ana)
            let meta = #""meta":{"a":"\#(String(repeating: "x", count: 5_113))"}"#
            for (event, more) in [
                ("chats/create", ""), ("chats/updateMeta", #","chatId":\#(fixture.chat)"#),
                ("messages/create", #","chatId":\#(fixture.chat),"data":"x""#), ("users/updateMeta", ""),
            ] {
                #expect(try await socket.ask(event, "{\(meta)\(more)}").code == 460, "\(event)")
            }
            let fits = #"{"chatId":\#(fixture.chat),"meta":{"a":"\#(String(repeating: "x", count: 5_112))"}}"#
            #expect(try await socket.ask("chats/updateMeta", fits).code == 200)
        }
    }

    @Test("A member without admin rights gets code 403")
    func forbidden() async throws {
        try await withSockets { fixture in
            let bo = try await fixture.socket(of: fixture.bo)
            let kick = #"{"chatId":\#(fixture.chat),"userId":"ana"}"#
            #expect(try await bo.ask("chats/kick", kick).code == 403)
            let list = #"{"chatId":\#(fixture.chat),"whiteList":[]}"#
            #expect(try await bo.ask("chats/whiteList/update", list).code == 403)
        }
    }

    @Test(
        "Each API error has its socket code",
        arguments: [
            (APIError(.forbidden, "authentication_required", ""), 498), (APIError(.forbidden, "x", ""), 403),
            (APIError(.unauthenticated, "x", ""), 403), (APIError(.notFound, "x", ""), 495),
            (APIError(.unprocessable, "group_required", ""), 480), (APIError(.invalid, "group_required", ""), 480),
            (APIError(.tooLarge, "meta_too_long", ""), 460), (APIError(.tooLarge, "file_too_large", ""), 496),
            (APIError(.tooLarge, "text_too_long", ""), 497), (APIError(.invalid, "x", ""), 497),
            (APIError(.unprocessable, "x", ""), 497), (APIError(.conflict, "x", ""), 497),
            (APIError(.rateLimited, "x", ""), 429), (APIError(.unavailable, "x", ""), 499), (APIError.internal, 499),
            (APIError(.insufficientStorage, "x", ""), 499), (APIError(.gatewayTimeout, "x", ""), 499),
        ]
    )
    func codes(_ error: APIError, _ code: Int) {
        #expect(SocketCode.of(error) == code)
    }
}

extension SocketFixture {
    /// Returns every row that a request could have changed.
    fileprivate func rows() async throws -> [String] {
        try await fixture.service.database.pool.all(
            """
            SELECT conversations::text AS row FROM conversations UNION ALL SELECT heads::text FROM heads
            UNION ALL SELECT members::text FROM members UNION ALL SELECT messages::text FROM messages
            UNION ALL SELECT devices::text FROM devices UNION ALL SELECT blocks::text FROM blocks
            ORDER BY 1
            """,
            as: { try $0.string("row") }
        )
    }
}
