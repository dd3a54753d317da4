import ConversationsAPI
import HTTPTypes
import TestSupport
import Testing
import Wire

/// Every way to reach a user, across a block and without one.
@Suite("Blocks between two users") struct BlockRelationTests {
    enum Relation: CaseIterable {
        case none, blockedByAdder, blockedByAdded
    }

    enum Way: CaseIterable {
        case group, groupOfMany, add, addAfterKick, addAfterLeaving
    }

    /// In every case Ann adds Bob.
    @Test("No user is added to a group across a block", arguments: Relation.allCases, Way.allCases)
    func adding(_ relation: Relation, _ way: Way) async throws {
        let members = [.addAfterKick, .addAfterLeaving].contains(way) ? ["bob", "cat"] : ["cat"]
        try await withConversation(ConversationDraft(label: "Walks", members: members)) { scene in
            switch way {
            case .addAfterKick: try await scene.ann.conversations.kick("bob", from: scene.token)
            case .addAfterLeaving: try await scene.bob.conversations.leave(scene.token)
            case .group, .groupOfMany, .add: break
            }
            try await scene.set(relation)

            let answer =
                switch way {
                case .group:
                    try await scene.ann.ask(.post, "/conversations/create", #"{"label": "x", "members": ["bob"]}"#)
                case .groupOfMany:
                    try await scene.ann.ask(
                        .post,
                        "/conversations/create",
                        #"{"label": "x", "members": ["dan", "bob", "eve"]}"#
                    )
                case .add, .addAfterKick, .addAfterLeaving:
                    try await scene.ann.ask(.put, "/conversations/\(scene.token)/members/bob")
                }

            let code = relation == .none ? way == .addAfterLeaving ? "member_left" : nil : "blocked"
            #expect(answer.status == (code == nil ? 200 : 403), "\(answer.text)")
            #expect(answer.problem?.code == code)
            let groups = try await scene.bob.conversations.list().things
            #expect(groups.count == (code == nil ? 1 : 0))
        }
    }

    @Test("A user who left comes back by their own decision, and is then like any member")
    func comingBack() async throws {
        try await withConversation { scene in
            let path = "/conversations/\(scene.token)/members/bob"
            try await scene.bob.conversations.leave(scene.token)
            #expect(try await scene.ann.ask(.put, path).problem?.code == "member_left")
            try await scene.bob.conversations.join(scene.token)
            // A user who was kicked since can be added again.
            try await scene.ann.conversations.kick("bob", from: scene.token)
            #expect(try await scene.ann.ask(.put, path).status == 200)
        }
    }

    @Test("The white list lets a user in who left")
    func whiteList() async throws {
        let draft = ConversationDraft(label: "x", members: ["bob"], joinByToken: false)
        try await withConversation(draft) { scene in
            try await scene.bob.conversations.leave(scene.token)
            #expect(try await scene.bob.ask(.post, "/conversations/\(scene.token)/join").status == 403)
            let list = try await scene.ann.ask(
                .put,
                "/conversations/\(scene.token)/whiteList",
                #"{"whiteList": ["bob"]}"#
            )
            #expect(list.status == 200)
            #expect(list.json["members"] == .array([.string("ann")]))
            #expect(try await scene.bob.ask(.post, "/conversations/\(scene.token)/join").status == 200)
        }
    }

    @Test("In a group that both joined, a block stops no message, reply or reaction", arguments: Relation.allCases)
    func shared(_ relation: Relation) async throws {
        try await withConversation { scene in
            try await scene.set(relation)
            let said = try await scene.bob.say("hello", in: scene.token)
            _ = try await scene.ann.conversations.send(MessageDraft(data: "yes", replyTo: said.id), to: scene.token)
            try await scene.ann.conversations.react("👍", to: said.id, in: scene.token)
            #expect(try await scene.bob.conversations.messages(scene.token).count >= 2)
        }
    }

    @Test("Only the blocked user is refused in a direct conversation", arguments: Relation.allCases)
    func direct(_ relation: Relation) async throws {
        try await withConversation { scene in
            try await scene.set(relation)
            let answer = try await scene.ann.ask(
                .post,
                "/conversations/create",
                #"{"type": "direct", "members": ["bob"]}"#
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
        try await withSockets(ConversationDraft(label: "Walks", members: ["cat"])) { scene in
            let (blocker, blocked) = isBlockedByAdded ? (scene.bob, "ann") : (scene.ann, "bob")
            try await blocker.conversations.block(blocked)
            let socket = try await scene.socket(of: scene.ann)
            #expect(try await socket.ask("chats/create", #"{"members":["bob"]}"#).code == 403)
            let added = try await socket.ask("chats/addMember", #"{"chatId":\#(scene.chat),"userId":"bob"}"#)
            #expect(added.code == 403)
        }
    }
}

extension Scene {
    fileprivate func set(_ relation: BlockRelationTests.Relation) async throws {
        switch relation {
        case .none: break
        case .blockedByAdder: try await ann.conversations.block("bob")
        case .blockedByAdded: try await bob.conversations.block("ann")
        }
    }
}
