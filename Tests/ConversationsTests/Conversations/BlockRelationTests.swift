import ConversationsAPI
import HTTPTypes
import PushAPI
import TestSupport
import Testing
import Wire

/// Every way to contact a user, across a block and without one.
@Suite("Blocks between two users") struct BlockRelationTests {
    enum Relation: CaseIterable {
        case none, blockedByAdder, blockedByAdded
    }

    enum Action: CaseIterable {
        case message, reply, reaction, readMark, typing
    }

    enum Way: CaseIterable {
        case group, groupOfMany, add, addAfterKick, addAfterLeaving
    }

    /// In every case Ana adds Bo.
    @Test("No user is added to a group across a block", arguments: Relation.allCases, Way.allCases)
    func adding(_ relation: Relation, _ way: Way) async throws {
        let members = [.addAfterKick, .addAfterLeaving].contains(way) ? ["bo", "cat"] : ["cat"]
        try await withConversation(ConversationDraft(label: "Walks", members: members)) { fixture in
            switch way {
            case .addAfterKick: try await fixture.ana.conversations.kick("bo", from: fixture.token)
            case .addAfterLeaving: try await fixture.bo.conversations.leave(fixture.token)
            case .group, .groupOfMany, .add: break
            }
            try await fixture.set(relation)

            let answer =
                switch way {
                case .group:
                    try await fixture.ana.ask(.post, "/conversations/create", #"{"label": "x", "members": ["bo"]}"#)
                case .groupOfMany:
                    try await fixture.ana.ask(
                        .post,
                        "/conversations/create",
                        #"{"label": "x", "members": ["dan", "bo", "eve"]}"#
                    )
                case .add, .addAfterKick, .addAfterLeaving:
                    try await fixture.ana.ask(.put, "/conversations/\(fixture.token)/members/bo")
                }

            let code = relation == .none ? way == .addAfterLeaving ? "member_left" : nil : "blocked"
            #expect(answer.status == (code == nil ? 200 : 403), "\(answer.text)")
            #expect(answer.problem?.code == code)
            let groups = try await fixture.bo.conversations.list().items
            #expect(groups.count == (code == nil ? 1 : 0))
        }
    }

    @Test("A user who left can rejoin by their own decision, and is then an ordinary member")
    func comingBack() async throws {
        try await withConversation { fixture in
            let path = "/conversations/\(fixture.token)/members/bo"
            try await fixture.bo.conversations.leave(fixture.token)
            #expect(try await fixture.ana.ask(.put, path).problem?.code == "member_left")
            try await fixture.bo.conversations.join(fixture.token)
            // A user who was kicked since can be added again.
            try await fixture.ana.conversations.kick("bo", from: fixture.token)
            #expect(try await fixture.ana.ask(.put, path).status == 200)
        }
    }

    @Test("The white list admits a user who left")
    func whiteList() async throws {
        let draft = ConversationDraft(label: "x", members: ["bo"], joinByToken: false)
        try await withConversation(draft) { fixture in
            try await fixture.bo.conversations.leave(fixture.token)
            #expect(try await fixture.bo.ask(.post, "/conversations/\(fixture.token)/join").status == 403)
            let list = try await fixture.ana.ask(
                .put,
                "/conversations/\(fixture.token)/whiteList",
                #"{"whiteList": ["bo"]}"#
            )
            #expect(list.status == 200)
            #expect(list.json["members"] == .array([.string("ana")]))
            #expect(try await fixture.bo.ask(.post, "/conversations/\(fixture.token)/join").status == 200)
        }
    }

    /// Ana acts in each case.
    ///
    /// In a direct conversation that is older than the block, Ana is rejected if Bo blocked Ana, but can still
    /// read. In a group that both users joined, a block prevents none of these actions.
    @Test("A block applies in a direct conversation, not in a group", arguments: Relation.allCases, Action.allCases)
    func acting(_ relation: Relation, _ action: Action) async throws {
        try await withSockets { fixture in
            let group = fixture.fixture.conversation
            let direct = try await fixture.ana.openDirect(with: "bo")
            let inGroup = try await fixture.bo.send("hello", in: group.token)
            let inDirect = try await fixture.bo.send("hello", in: direct.token)
            let socket = try await fixture.socket(of: fixture.ana)
            try await fixture.fixture.set(relation)

            let isRefused = relation == .blockedByAdded && action != .readMark
            let status = try await fixture.status(of: action, about: inDirect, in: direct, socket)
            #expect(isRefused ? status == 403 : status == 200, "\(status)")
            let inGroupStatus = try await fixture.status(of: action, about: inGroup, in: group, socket)
            #expect(inGroupStatus == 200)
        }
    }

    @Test("In a group no mention notifies a user across a block", arguments: Relation.allCases)
    func mention(_ relation: Relation) async throws {
        let push = FakePush()
        let draft = ConversationDraft(label: "Walks", members: ["bo", "cat"])
        try await withConversation(push: push, draft) { fixture in
            try await fixture.set(relation)
            try await fixture.ana.send("@bo, look", in: fixture.token)
            try await push.waitForNotifications(1)
            let notified = try #require(push.taken.first).recipients.map(\.userId)
            #expect(notified == (relation == .none ? ["bo", "cat"] : ["cat"]))
        }
    }

    @Test("Only the blocked user is refused in a direct conversation", arguments: Relation.allCases)
    func direct(_ relation: Relation) async throws {
        try await withConversation { fixture in
            try await fixture.set(relation)
            let answer = try await fixture.ana.ask(
                .post,
                "/conversations/create",
                #"{"type": "direct", "members": ["bo"]}"#
            )
            #expect(answer.status == (relation == .blockedByAdded ? 403 : 200))
            if relation == .blockedByAdded { #expect(answer.problem?.code == "blocked") }
        }
    }
}

/// The same rules behind the socket's events.
@Suite("Blocks between two users, by socket") struct SocketBlockTests {
    @Test("chats/create and chats/addMember add no user across a block", arguments: [true, false])
    func adding(isBlockedByAdded: Bool) async throws {
        try await withSockets(ConversationDraft(label: "Walks", members: ["cat"])) { fixture in
            let (blocker, blocked) = isBlockedByAdded ? (fixture.bo, "ana") : (fixture.ana, "bo")
            try await blocker.conversations.block(blocked)
            let socket = try await fixture.socket(of: fixture.ana)
            #expect(try await socket.ask("chats/create", #"{"members":["bo"]}"#).code == 403)
            let added = try await socket.ask("chats/addMember", #"{"chatId":\#(fixture.chat),"userId":"bo"}"#)
            #expect(added.code == 403)
        }
    }
}

extension SocketFixture {
    /// Returns the status, or the socket's code, of the response to Ana's action.
    fileprivate func status(
        of action: BlockRelationTests.Action,
        about message: Message,
        in conversation: Conversation,
        _ socket: SocketClient
    ) async throws -> Int {
        let path = "/conversations/\(conversation.token)/messages"
        switch action {
        case .message: return try await ana.ask(.post, path, #"{"data": "x"}"#).status
        case .reply: return try await ana.ask(.post, path, #"{"data": "x", "replyTo": \#(message.id)}"#).status
        case .reaction: return try await ana.ask(.put, "\(path)/\(message.id)/reactions/%F0%9F%91%8D").status
        case .readMark:
            return try await socket.ask("messages/markAsRead", #"{"messageId":\#(message.id)}"#).code ?? 0
        case .typing:
            let typing = try await socket.ask("chats/typing", #"{"chatId":\#(conversation.id.rawValue)}"#)
            return typing.code ?? 0
        }
    }
}

extension ConversationFixture {
    fileprivate func set(_ relation: BlockRelationTests.Relation) async throws {
        switch relation {
        case .none: break
        case .blockedByAdder: try await ana.conversations.block("bo")
        case .blockedByAdded: try await bo.conversations.block("ana")
        }
    }
}
