import ConversationsAPI
import HTTPTypes
import TestSupport
import Testing
import Wire

@Suite("Joining and leaving") struct JoinTests {
    struct JoinCase: Sendable, CustomTestStringConvertible {
        let whiteList: WhiteList?
        let joinByToken: Bool?
        let wasKicked: Bool
        let admits: Bool

        var testDescription: String { "\(whiteList as Any), \(joinByToken as Any), kicked \(wasKicked)" }
    }

    /// The white list admits the users on it, even after a kick.
    ///
    /// The token alone admits every user who was not kicked.
    static let joinCases: [JoinCase] = [
        JoinCase(whiteList: nil, joinByToken: nil, wasKicked: false, admits: true),
        JoinCase(whiteList: nil, joinByToken: nil, wasKicked: true, admits: false),
        JoinCase(whiteList: nil, joinByToken: false, wasKicked: false, admits: false),
        JoinCase(whiteList: .only([]), joinByToken: nil, wasKicked: false, admits: false),
        JoinCase(whiteList: .only([]), joinByToken: true, wasKicked: false, admits: true),
        JoinCase(whiteList: .only([]), joinByToken: true, wasKicked: true, admits: false),
        JoinCase(whiteList: .anyone, joinByToken: nil, wasKicked: false, admits: true),
        JoinCase(whiteList: .anyone, joinByToken: nil, wasKicked: true, admits: true),
        JoinCase(whiteList: .only(["eve"]), joinByToken: nil, wasKicked: false, admits: true),
        JoinCase(whiteList: .only(["eve"]), joinByToken: false, wasKicked: true, admits: true),
        JoinCase(whiteList: .only(["cat"]), joinByToken: nil, wasKicked: false, admits: false),
        JoinCase(whiteList: .only(["cat"]), joinByToken: true, wasKicked: true, admits: false),
    ]

    @Test("The white list and the token decide whether a user can join", arguments: joinCases)
    func joinMatrix(_ joinCase: JoinCase) async throws {
        let draft = ConversationDraft(
            label: "Door",
            members: joinCase.wasKicked ? ["eve"] : [],
            whiteList: joinCase.whiteList,
            joinByToken: joinCase.joinByToken
        )
        try await withConversation(draft) { fixture in
            if joinCase.wasKicked { try await fixture.ana.conversations.kick("eve", from: fixture.token) }

            let answer = try await fixture.eve.ask(.post, "/conversations/\(fixture.token)/join")

            #expect(answer.status == (joinCase.admits ? 200 : 403))
            let members = try await fixture.ana.conversations.conversation(fixture.token).members
            #expect(members?.contains("eve") == joinCase.admits)
        }
    }

    @Test("A member who joins again changes nothing")
    func joiningAgain() async throws {
        try await withConversation { fixture in
            let before = try await fixture.bo.conversations.conversation(fixture.token)
            let after = try await fixture.bo.conversations.join(fixture.token)
            #expect(before == after)
        }
    }

    @Test("A kicked user can be added again, and can then leave and rejoin")
    func addAfterKick() async throws {
        try await withConversation { fixture in
            try await fixture.ana.conversations.kick("bo", from: fixture.token)
            #expect(try await fixture.bo.ask(.get, "/conversations/\(fixture.token)").status == 404)

            #expect(try await fixture.ana.ask(.put, "/conversations/\(fixture.token)/members/bo").status == 200)
            try await fixture.bo.conversations.leave(fixture.token)

            #expect(try await fixture.bo.ask(.post, "/conversations/\(fixture.token)/join").status == 200)
        }
    }

    @Test("Removing a member from the white list does not remove the member")
    func removalFromWhiteList() async throws {
        try await withConversation(ConversationDraft(label: "x", members: ["bo"], whiteList: .only(["bo"]))) {
            fixture in
            let answer = try await fixture.ana.ask(
                .put,
                "/conversations/\(fixture.token)/whiteList",
                #"{"whiteList": []}"#
            )
            #expect(answer.json["members"] == .array([.string("ana"), .string("bo")]))

            try await fixture.ana.conversations.kick("bo", from: fixture.token)
            #expect(try await fixture.ana.conversations.conversation(fixture.token).whiteList == [])
        }
    }

    @Test("When the last admin leaves, the member of longest standing becomes admin")
    func lastAdmin() async throws {
        try await withConversation(ConversationDraft(label: "x", members: ["cat", "bo"])) { fixture in
            try await fixture.ana.conversations.leave(fixture.token)
            #expect(try await fixture.bo.conversations.conversation(fixture.token).admins == ["cat"])
        }
    }

    @Test("When one of two admins leaves, no new admin is appointed")
    func otherAdmin() async throws {
        try await withConversation(ConversationDraft(label: "x", members: ["cat", "bo"])) { fixture in
            _ = try await fixture.ana.ask(.put, "/conversations/\(fixture.token)/admins/bo")
            try await fixture.ana.conversations.leave(fixture.token)
            #expect(try await fixture.bo.conversations.conversation(fixture.token).admins == ["bo"])
        }
    }

    @Test("A user who joins an empty conversation becomes admin")
    func firstMemberIsAdmin() async throws {
        try await withConversation(ConversationDraft(label: "x")) { fixture in
            let left = try await fixture.ana.conversations.leave(fixture.token)
            #expect(left.members == [])
            let joined = try await fixture.eve.conversations.join(fixture.token)
            #expect(joined.admins == ["eve"])
        }
    }

    @Test("The creator and the last admin remain admins")
    func protectedAdmins() async throws {
        try await withConversation { fixture in
            let path = "/conversations/\(fixture.token)"
            #expect(try await fixture.ana.ask(.put, "\(path)/admins/bo").status == 200)

            #expect(try await fixture.bo.ask(.delete, "\(path)/admins/ana").problem?.code == "creator_stays_admin")
            #expect(try await fixture.bo.ask(.post, "\(path)/kick", #"{"userId": "ana"}"#).status == 403)
            #expect(try await fixture.bo.ask(.delete, "\(path)/members/ana").status == 403)
            #expect(try await fixture.bo.ask(.post, "\(path)/kick", #"{"userId": "bo"}"#).status == 403)

            try await fixture.ana.conversations.leave(fixture.token)
            #expect(try await fixture.bo.ask(.delete, "\(path)/admins/bo").problem?.code == "last_admin")
            #expect(try await fixture.bo.conversations.conversation(fixture.token).admins == ["bo"])
        }
    }

    @Test("A conversation cannot have more members than the limit")
    func memberLimit() async throws {
        try await withConversation(settings: ["MEMBERS_MAX": "3"]) { fixture in
            try await fixture.eve.conversations.join(fixture.token)
            let dan = try await fixture.person("dan")
            #expect(
                try await dan.ask(.post, "/conversations/\(fixture.token)/join").problem?.code == "too_many_members"
            )
            #expect(try await fixture.ana.ask(.put, "/conversations/\(fixture.token)/members/dan").status == 422)
            let draft = #"{"label": "x", "members": ["a", "b", "c"]}"#
            #expect(try await fixture.ana.ask(.post, "/conversations/create", draft).status == 422)
        }
    }

    @Test("A user of Roost itself must exist to be named")
    func unknownUser() async throws {
        try await withConversation { fixture in
            let known = "0e9fb3a4-5f2c-4f7b-9a68-3d2b1c0f7e55"
            let unknown = "11111111-5f2c-4f7b-9a68-3d2b1c0f7e55"
            fixture.auth.accounts.change { $0 = [known] }
            let ana = try await fixture.person("22222222-5f2c-4f7b-9a68-3d2b1c0f7e55", application: RoostApplication.id)

            let made = try await ana.conversations.create(.init(label: "x", members: [known.uppercased()]))
            #expect(made.members == [ana.id.user, known])

            let path = "/conversations/\(made.token)"
            for (name, field) in [(unknown, "members"), ("bo", "members")] {
                let answer = try await ana.ask(
                    .post,
                    "/conversations/create",
                    #"{"label": "x", "members": ["\#(name)"]}"#
                )
                #expect(answer.status == 400)
                #expect(answer.problem?.field == field)
            }
            let list = try await ana.ask(.put, "\(path)/whiteList", #"{"whiteList": ["\#(known)", "\#(unknown)"]}"#)
            #expect(list.status == 400)
            #expect(list.problem?.field == "whiteList")
            let member = try await ana.ask(.put, "\(path)/members/\(unknown)")
            #expect(member.status == 400)
            #expect(member.problem?.code == "user_not_found")

            fixture.auth.isAway.change { $0 = true }
            #expect(try await ana.ask(.put, "\(path)/members/\(unknown)").status == 503)
            #expect(try await ana.ask(.put, "\(path)/members/\(known)").status == 200)
        }
    }
}
