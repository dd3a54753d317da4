import ConversationsAPI
import Foundation
import TestSupport
import Testing
import Wire

@testable import ConversationsServer

@Suite("New and joined chats") struct NewChatTests {
    private static func made(_ made: Conversation) throws -> ConversationToken {
        try #require(ConversationToken(made.token))
    }

    /// Returns the names of one chat's events in order of arrival.
    private static func events(of client: Client, in token: ConversationToken) -> [String] {
        client.socket.received.filter { received in
            let id = received.json[received.name == .joined ? "id" : "chatId"].int
            return id == Int(token.id.rawValue)
        }.map(\.name.rawValue)
    }

    @Test("Every device of every member receives a new chat before its first message", arguments: ["group", "direct"])
    func create(_ type: String) async throws {
        try await withStore { fixture in
            try await fixture.withInstances { one, two in
                let clients = [
                    try await one.connect("bo", device: "phone"), try await two.connect("bo", device: "tablet"),
                    try await two.connect("ana"),
                ]
                let draft = ConversationDraft(label: "New", members: ["bo"], type: type)
                let token = try Self.made(try await one.conversations.create(draft, by: StoreFixture.user("ana")))
                _ = try await one.messages.send(MessageDraft(data: "hi"), to: token, by: StoreFixture.user("ana"))

                for client in clients {
                    try await eventually { client.socket.allSeqs.contains(1) }
                    #expect(Self.events(of: client, in: token).first == "chats/joined")
                    let chats = client.socket.received(.joined)
                    #expect(chats.count == 1)
                    #expect(chats.first?["members"].array.map(\.string) == ["ana", "bo"])
                    #expect(chats.first?["type"].string == type)
                    #expect(chats.first?["presences"].array.count == 1)
                }
            }
        }
    }

    @Test("An added member receives the chat once, before the system message about it", arguments: [true, false])
    func add(othersAreThere: Bool) async throws {
        try await withStore { fixture in
            try await fixture.withInstances { one, two in
                let token = fixture.conversation
                let dan = try await two.connect("dan")
                let bo = othersAreThere ? try await two.connect("bo") : nil
                _ = try await one.messages.send(MessageDraft(data: "x"), to: token, by: StoreFixture.user("ana"))

                _ = try await one.members.add("dan", to: token, by: StoreFixture.user("ana"))

                try await dan.waitForMessage(upTo: 2)
                #expect(Self.events(of: dan, in: token) == ["chats/joined", "message"])
                #expect(bo.map { $0.socket.received(.joined).isEmpty } ?? true)
            }
        }
    }

    @Test("A client that reconnects receives new chats, and then their messages from the first")
    func reconnect() async throws {
        try await withStore { fixture in
            try await fixture.withUnconnectedInstances { one, _ in
                let (ana, known) = (StoreFixture.user("ana"), fixture.conversation)
                let group = ConversationDraft(label: "New", members: ["bo"])
                let token = try Self.made(try await one.conversations.create(group, by: ana))
                for text in ["one", "two"] {
                    _ = try await one.messages.send(MessageDraft(data: text), to: token, by: ana)
                }

                let bo = try await one.connect("bo", last: [known.id: 0])
                let other = try await one.connect("bo", device: "other", last: [:])
                let silent = try await one.connect("bo", device: "silent")
                _ = try await one.messages.send(MessageDraft(data: "three"), to: token, by: ana)

                for client in [bo, other] {
                    try await client.waitForMessage(upTo: 3)
                    #expect(Self.events(of: client, in: token) == ["chats/joined", "messages/sync", "message"])
                    #expect(client.socket.allSeqs == [1, 2, 3])
                    #expect(client.connection.isComplete == true)
                }
                #expect(bo.socket.received(.joined).count == 1)
                #expect(other.socket.received(.joined).count == 2)
                #expect(silent.socket.received(.joined).isEmpty)
                #expect(silent.connection.isComplete == nil)
            }
        }
    }

    @Test("A client that reconnects receives a joined chat from the message about the join on")
    func reconnectAfterJoining() async throws {
        try await withStore { fixture in
            try await fixture.withUnconnectedInstances { one, _ in
                let (token, ana) = (fixture.conversation, StoreFixture.user("ana"))
                for _ in 1...3 { _ = try await one.messages.send(MessageDraft(data: "x"), to: token, by: ana) }
                _ = try await one.members.add("dan", to: token, by: ana)
                _ = try await one.messages.send(MessageDraft(data: "y"), to: token, by: ana)

                let dan = try await one.connect("dan", last: [:])

                #expect(Self.events(of: dan, in: token) == ["chats/joined", "messages/sync"])
                #expect(dan.socket.allSeqs == [4, 5])
            }
        }
    }

    @Test("A client with more than 100 unknown chats receives the most active 100, marked as incomplete")
    func many() async throws {
        try await withStore { fixture in
            try await fixture.withUnconnectedInstances { one, _ in
                var tokens = [fixture.conversation]
                for _ in 0..<240 { tokens.append(try await fixture.newConversation(["ana", "bo"])) }
                let busy = Array(tokens.prefix(20))
                for token in busy {
                    _ = try await one.messages.send(MessageDraft(data: "x"), to: token, by: StoreFixture.user("ana"))
                }

                let bo = try await one.connect("bo", last: [:])

                let announced = Set(bo.socket.received(.joined).compactMap { $0["id"].int })
                #expect(announced.count == 100)
                #expect(busy.allSatisfy { announced.contains(Int($0.id.rawValue)) })
                #expect(bo.connection.isComplete == false)
                #expect(tokens.allSatisfy { one.delivery.connections.isIn($0.id, bo.connection) })
            }
        }
    }

    @Test("A client that reconnects during its user's joins receives each chat once, before its messages")
    func concurrent() async throws {
        try await withStore { fixture in
            try await fixture.withInstances { one, two in
                let (ana, cat) = (StoreFixture.user("ana"), try await two.connect("cat"))
                for round in 0..<20 {
                    let draft = ConversationDraft(label: "New", members: ["cat"])
                    let token = try Self.made(try await one.conversations.create(draft, by: ana))
                    async let client = two.connect("dan", device: "\(round)", last: [:])
                    async let added = one.members.add("dan", to: token, by: ana)
                    let (dan, _) = (try await client, try await added)
                    _ = try await one.messages.send(MessageDraft(data: "x"), to: token, by: ana)

                    try await eventually {
                        Self.events(of: dan, in: token).filter { $0 != "chats/joined" }.count >= 1
                            && two.delivery.connections.isIn(token.id, dan.connection)
                    }
                    let events = Self.events(of: dan, in: token)
                    #expect(events.first == "chats/joined")
                    let announcements = events.filter { $0 == "chats/joined" }
                    #expect(announcements.count == 1)
                    dan.leave()
                }
                try await eventually { cat.socket.received(.joined).count == 20 }
            }
        }
    }
}

@Suite("New chats over sockets") struct NewChatSocketTests {
    @Test("A member of a new chat receives it by socket, and with `last` also after reconnecting")
    func joined() async throws {
        try await withSockets { fixture in
            let bo = try await fixture.socket(of: fixture.bo)
            let ana = try await fixture.socket(of: fixture.ana)
            let chat = try await ana.ask("chats/create", #"{"members":["bo"]}"#)
            let joined = try await bo.event("chats/joined")
            #expect(joined["id"] == chat["id"])
            #expect(joined["members"].array.map(\.string) == ["ana", "bo"])
            #expect(joined["profiles"]["bo"]["fullName"].string == "bo")

            let back = #"{"token":"\#(fixture.bo.token)","last":{"\#(fixture.chat)":0}}"#
            let returning = try await SocketClient(port: fixture.port, auth: back)
            #expect(try await returning.event("chats/joined")["id"] == chat["id"])
            #expect(try await returning.event("authenticate")["complete"].bool == true)
        }
    }

    @Test("The event `authenticate` takes `last` too")
    func authenticate() async throws {
        try await withSockets { fixture in
            let socket = try await fixture.stranger()
            let answer = try await socket.ask("authenticate", #"{"authToken":"\#(fixture.bo.token)","last":{}}"#)
            #expect(answer.code == 200)
            #expect(answer["complete"].bool == true)
            #expect(try await socket.event("chats/joined")["id"].int == Int(fixture.chat))
            let other = try await fixture.stranger()
            let plain = try await other.ask("authenticate", #"{"authToken":"\#(fixture.bo.token)"}"#)
            #expect(plain["complete"] == .null)
        }
    }
}
