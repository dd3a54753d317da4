import ConversationsAPI
import HTTPTypes
import TestSupport
import Testing
import Wire

/// Who may come in, who goes, and who decides then.
@Suite struct JoinTests {
    struct Door: Sendable, CustomTestStringConvertible {
        let whiteList: WhiteList?
        let joinByToken: Bool?
        let wasKicked: Bool
        let opens: Bool

        var testDescription: String { "\(whiteList as Any), \(joinByToken as Any), kicked \(wasKicked)" }
    }

    /// By id (here: by a token that the list's people were given) who the white list admits, kicked or not; by the
    /// token alone everyone but who was kicked.
    static let doors: [Door] = [
        Door(whiteList: nil, joinByToken: nil, wasKicked: false, opens: true),
        Door(whiteList: nil, joinByToken: nil, wasKicked: true, opens: false),
        Door(whiteList: nil, joinByToken: false, wasKicked: false, opens: false),
        Door(whiteList: .only([]), joinByToken: nil, wasKicked: false, opens: false),
        Door(whiteList: .only([]), joinByToken: true, wasKicked: false, opens: true),
        Door(whiteList: .only([]), joinByToken: true, wasKicked: true, opens: false),
        Door(whiteList: .everybody, joinByToken: nil, wasKicked: false, opens: true),
        Door(whiteList: .everybody, joinByToken: nil, wasKicked: true, opens: true),
        Door(whiteList: .only(["eve"]), joinByToken: nil, wasKicked: false, opens: true),
        Door(whiteList: .only(["eve"]), joinByToken: false, wasKicked: true, opens: true),
        Door(whiteList: .only(["cat"]), joinByToken: nil, wasKicked: false, opens: false),
        Door(whiteList: .only(["cat"]), joinByToken: true, wasKicked: true, opens: false),
    ]

    @Test(arguments: doors)
    func theDoorOpensToWhomItShould(_ door: Door) async throws {
        let draft = ConversationDraft(
            label: "Door",
            members: door.wasKicked ? ["eve"] : [],
            whiteList: door.whiteList,
            joinByToken: door.joinByToken
        )
        try await withConversation(draft) { scene in
            if door.wasKicked { try await scene.ann.conversations.kick("eve", from: scene.token) }

            let answer = try await scene.eve.ask(.post, "/conversations/\(scene.token)/join")

            #expect(answer.status == (door.opens ? 200 : 403))
            let members = try await scene.ann.conversations.conversation(scene.token).members
            #expect(members?.contains("eve") == door.opens)
        }
    }

    @Test func joiningAgainChangesNothing() async throws {
        try await withConversation { scene in
            let before = try await scene.bob.conversations.conversation(scene.token)
            let after = try await scene.bob.conversations.join(scene.token)
            #expect(before == after)
        }
    }

    @Test func anAdminMayBringBackWhomHeKicked() async throws {
        try await withConversation { scene in
            try await scene.ann.conversations.kick("bob", from: scene.token)
            #expect(try await scene.bob.ask(.get, "/conversations/\(scene.token)").status == 404)

            #expect(try await scene.ann.ask(.put, "/conversations/\(scene.token)/members/bob").status == 200)
            try await scene.bob.conversations.leave(scene.token)

            #expect(try await scene.bob.ask(.post, "/conversations/\(scene.token)/join").status == 200)
        }
    }

    @Test func takingSomeoneOffTheListKicksNobody() async throws {
        try await withConversation(ConversationDraft(label: "x", members: ["bob"], whiteList: .only(["bob"]))) {
            scene in
            let answer = try await scene.ann.ask(.put, "/conversations/\(scene.token)/whiteList", #"{"whiteList": []}"#)
            #expect(answer.json["members"] == .array([.string("ann"), .string("bob")]))

            try await scene.ann.conversations.kick("bob", from: scene.token)
            #expect(try await scene.ann.conversations.conversation(scene.token).whiteList == [])
        }
    }

    @Test func whenTheLastAdminLeavesTheOldestMemberBecomesOne() async throws {
        try await withConversation(ConversationDraft(label: "x", members: ["cat", "bob"])) { scene in
            try await scene.ann.conversations.leave(scene.token)
            #expect(try await scene.bob.conversations.conversation(scene.token).admins == ["cat"])
        }
    }

    @Test func anotherAdminStaysTheOnlyOne() async throws {
        try await withConversation(ConversationDraft(label: "x", members: ["cat", "bob"])) { scene in
            _ = try await scene.ann.ask(.put, "/conversations/\(scene.token)/admins/bob")
            try await scene.ann.conversations.leave(scene.token)
            #expect(try await scene.bob.conversations.conversation(scene.token).admins == ["bob"])
        }
    }

    @Test func whoComesIntoAnEmptyConversationDecides() async throws {
        try await withConversation(ConversationDraft(label: "x")) { scene in
            let left = try await scene.ann.conversations.leave(scene.token)
            #expect(left.members == [])
            let joined = try await scene.eve.conversations.join(scene.token)
            #expect(joined.admins == ["eve"])
        }
    }

    @Test func theCreatorAndTheLastAdminStay() async throws {
        try await withConversation { scene in
            let path = "/conversations/\(scene.token)"
            #expect(try await scene.ann.ask(.put, "\(path)/admins/bob").status == 200)

            #expect(try await scene.bob.ask(.delete, "\(path)/admins/ann").problem?.code == "creator_stays_admin")
            #expect(try await scene.bob.ask(.post, "\(path)/kick", #"{"userId": "ann"}"#).status == 403)
            #expect(try await scene.bob.ask(.delete, "\(path)/members/ann").status == 403)
            #expect(try await scene.bob.ask(.post, "\(path)/kick", #"{"userId": "bob"}"#).status == 403)

            try await scene.ann.conversations.leave(scene.token)
            #expect(try await scene.bob.ask(.delete, "\(path)/admins/bob").problem?.code == "last_admin")
            #expect(try await scene.bob.conversations.conversation(scene.token).admins == ["bob"])
        }
    }

    @Test func aConversationHasSoMuchRoom() async throws {
        try await withConversation(settings: ["MEMBERS_MAX": "3"]) { scene in
            try await scene.eve.conversations.join(scene.token)
            let dan = try await scene.person("dan")
            #expect(try await dan.ask(.post, "/conversations/\(scene.token)/join").problem?.code == "too_many_members")
            #expect(try await scene.ann.ask(.put, "/conversations/\(scene.token)/members/dan").status == 422)
            let draft = #"{"label": "x", "members": ["a", "b", "c"]}"#
            #expect(try await scene.ann.ask(.post, "/conversations/create", draft).status == 422)
        }
    }

    @Test func roostsUsersMustExist() async throws {
        try await withConversation { scene in
            let known = "0e9fb3a4-5f2c-4f7b-9a68-3d2b1c0f7e55"
            let unknown = "11111111-5f2c-4f7b-9a68-3d2b1c0f7e55"
            scene.auth.accounts.change { $0 = [known] }
            let ann = try await scene.person("22222222-5f2c-4f7b-9a68-3d2b1c0f7e55", application: RoostApplication.id)

            let made = try await ann.conversations.create(.init(label: "x", members: [known.uppercased()]))
            #expect(made.members == [ann.id.user, known])

            let path = "/conversations/\(made.token)"
            for (name, field) in [(unknown, "members"), ("bob", "members")] {
                let answer = try await ann.ask(
                    .post,
                    "/conversations/create",
                    #"{"label": "x", "members": ["\#(name)"]}"#
                )
                #expect(answer.status == 400)
                #expect(answer.problem?.field == field)
            }
            let list = try await ann.ask(.put, "\(path)/whiteList", #"{"whiteList": ["\#(known)", "\#(unknown)"]}"#)
            #expect(list.status == 400)
            #expect(list.problem?.field == "whiteList")
            let member = try await ann.ask(.put, "\(path)/members/\(unknown)")
            #expect(member.status == 400)
            #expect(member.problem?.code == "user_not_found")

            scene.auth.isAway.change { $0 = true }
            #expect(try await ann.ask(.put, "\(path)/members/\(unknown)").status == 503)
            #expect(try await ann.ask(.put, "\(path)/members/\(known)").status == 200)
        }
    }
}
