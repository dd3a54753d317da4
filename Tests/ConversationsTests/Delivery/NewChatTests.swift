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
                    try await one.connect("bob", device: "phone"), try await two.connect("bob", device: "tablet"),
                    try await two.connect("ann"),
                ]
                let draft = ConversationDraft(label: "New", members: ["bob"], type: type)
                let token = try Self.made(try await one.conversations.create(draft, by: StoreFixture.user("ann")))
                _ = try await one.messages.send(MessageDraft(data: "hi"), to: token, by: StoreFixture.user("ann"))

                for client in clients {
                    try await eventually { client.socket.allSeqs.contains(1) }
                    #expect(Self.events(of: client, in: token).first == "chats/joined")
                    let chats = client.socket.received(.joined)
                    #expect(chats.count == 1)
                    #expect(chats.first?["members"].array.map(\.string) == ["ann", "bob"])
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
                let bob = othersAreThere ? try await two.connect("bob") : nil
                _ = try await one.messages.send(MessageDraft(data: "x"), to: token, by: StoreFixture.user("ann"))

                _ = try await one.members.add("dan", to: token, by: StoreFixture.user("ann"))

                try await dan.waitForMessage(upTo: 2)
                #expect(Self.events(of: dan, in: token) == ["chats/joined", "message"])
                #expect(bob.map { $0.socket.received(.joined).isEmpty } ?? true)
            }
        }
    }

    @Test("A client that reconnects receives new chats, and then their messages from the first")
    func reconnect() async throws {
        try await withStore { fixture in
            try await fixture.withUnconnectedInstances { one, _ in
                let (ann, known) = (StoreFixture.user("ann"), fixture.conversation)
                let group = ConversationDraft(label: "New", members: ["bob"])
                let token = try Self.made(try await one.conversations.create(group, by: ann))
                for text in ["one", "two"] {
                    _ = try await one.messages.send(MessageDraft(data: text), to: token, by: ann)
                }

                let bob = try await one.connect("bob", last: [known.id: 0])
                let other = try await one.connect("bob", device: "other", last: [:])
                let silent = try await one.connect("bob", device: "silent")
                _ = try await one.messages.send(MessageDraft(data: "three"), to: token, by: ann)

                for client in [bob, other] {
                    try await client.waitForMessage(upTo: 3)
                    #expect(Self.events(of: client, in: token) == ["chats/joined", "messages/sync", "message"])
                    #expect(client.socket.allSeqs == [1, 2, 3])
                    #expect(client.connection.isComplete == true)
                }
                #expect(bob.socket.received(.joined).count == 1)
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
                let (token, ann) = (fixture.conversation, StoreFixture.user("ann"))
                for _ in 1...3 { _ = try await one.messages.send(MessageDraft(data: "x"), to: token, by: ann) }
                _ = try await one.members.add("dan", to: token, by: ann)
                _ = try await one.messages.send(MessageDraft(data: "y"), to: token, by: ann)

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
                for _ in 0..<240 { tokens.append(try await fixture.newConversation(["ann", "bob"])) }
                let busy = Array(tokens.prefix(20))
                for token in busy {
                    _ = try await one.messages.send(MessageDraft(data: "x"), to: token, by: StoreFixture.user("ann"))
                }

                let bob = try await one.connect("bob", last: [:])

                let announced = Set(bob.socket.received(.joined).compactMap { $0["id"].int })
                #expect(announced.count == 100)
                #expect(busy.allSatisfy { announced.contains(Int($0.id.rawValue)) })
                #expect(bob.connection.isComplete == false)
                #expect(tokens.allSatisfy { one.delivery.connections.isIn($0.id, bob.connection) })
            }
        }
    }

    @Test("A client that reconnects during its user's joins receives each chat once, before its messages")
    func concurrent() async throws {
        try await withStore { fixture in
            try await fixture.withInstances { one, two in
                let (ann, cat) = (StoreFixture.user("ann"), try await two.connect("cat"))
                for round in 0..<20 {
                    let draft = ConversationDraft(label: "New", members: ["cat"])
                    let token = try Self.made(try await one.conversations.create(draft, by: ann))
                    async let client = two.connect("dan", device: "\(round)", last: [:])
                    async let added = one.members.add("dan", to: token, by: ann)
                    let (dan, _) = (try await client, try await added)
                    _ = try await one.messages.send(MessageDraft(data: "x"), to: token, by: ann)

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
            let bob = try await fixture.socket(of: fixture.bob)
            let ann = try await fixture.socket(of: fixture.ann)
            let chat = try await ann.ask("chats/create", #"{"members":["bob"]}"#)
            let joined = try await bob.event("chats/joined")
            #expect(joined["id"] == chat["id"])
            #expect(joined["members"].array.map(\.string) == ["ann", "bob"])
            #expect(joined["profiles"]["bob"]["fullName"].string == "bob")

            let back = #"{"token":"\#(fixture.bob.token)","last":{"\#(fixture.chat)":0}}"#
            let returning = try await SocketClient(port: fixture.port, auth: back)
            #expect(try await returning.event("chats/joined")["id"] == chat["id"])
            #expect(try await returning.event("authenticate")["complete"].bool == true)
        }
    }

    @Test("The event `authenticate` takes `last` too")
    func authenticate() async throws {
        try await withSockets { fixture in
            let socket = try await fixture.stranger()
            let answer = try await socket.ask("authenticate", #"{"authToken":"\#(fixture.bob.token)","last":{}}"#)
            #expect(answer.code == 200)
            #expect(answer["complete"].bool == true)
            #expect(try await socket.event("chats/joined")["id"].int == Int(fixture.chat))
            let other = try await fixture.stranger()
            let plain = try await other.ask("authenticate", #"{"authToken":"\#(fixture.bob.token)"}"#)
            #expect(plain["complete"] == .null)
        }
    }
}
