import ConversationsAPI
import ConversationsServer
import Foundation
import HTTPTypes
import ServiceClient
import TestSupport
import Testing
import Wire

/// Users of customers' applications.
///
/// They sign in with sessions, and the suite has no list of them.
@Suite("Users of applications") struct ApplicationTests {
    /// Returns a user with a session of an application.
    private func person(_ name: String, of application: String, in fixture: ConversationFixture) -> Customer {
        let id = User.ID(application: application, user: name)
        return Customer(
            id: id,
            session: fixture.auth.keys.openSession(of: id, device: "phone"),
            service: fixture.service
        )
    }

    @Test("A user id of an application needs no account")
    func unknownUser() async throws {
        try await withConversation { fixture in
            fixture.auth.isAway.change { $0 = true }
            let ana = person("ana@acme.example", of: "acme", in: fixture)
            let names = ["bo", "never seen", "+49 30 1234", "ärger", "a/b"]
            let made = try await ana.conversations.create(ConversationDraft(label: "Walks", members: names))
            #expect(made.members?.sorted() == (names + ["ana@acme.example"]).sorted())

            let bo = person("never seen", of: "acme", in: fixture)
            #expect(try await bo.conversations.list().items.map(\.token) == [made.token])
            let sent = try await bo.conversations.send(MessageDraft(data: "Here I am"), to: made.token)
            #expect(sent.senderUser?.serial == "never seen")
            let later = try await ana.ask(.put, "/conversations/\(made.token)/members/someone%2Felse")
            #expect(later.status == 200)
            #expect(try await ana.ask(.put, "/blocks/not-yet-seen").status == 200)
        }
    }

    @Test("A user of Roost itself must have an account")
    func roostAccount() async throws {
        try await withConversation { fixture in
            let id = UUID().uuidString.lowercased()
            fixture.auth.accounts.change { $0 = [id] }
            let ana = try await fixture.person(UUID().uuidString.lowercased(), application: RoostApplication.id)
            let known = try await ana.ask(.post, "/conversations/create", #"{"label": "x", "members": ["\#(id)"]}"#)
            #expect(known.status == 200)
            for name in [UUID().uuidString.lowercased(), "never seen"] {
                let body = #"{"label": "x", "members": ["\#(name)"]}"#
                let answer = try await ana.ask(.post, "/conversations/create", body)
                #expect(answer.status == 400)
                #expect(answer.problem?.code == "user_not_found")
                #expect(answer.problem?.field == "members")
            }
        }
    }

    @Test("Users with the same id in two applications share nothing")
    func sameUserID() async throws {
        try await withConversation { fixture in
            let ana = person("ana", of: "acme", in: fixture)
            let bo = person("bo", of: "acme", in: fixture)
            let twinAna = person("ana", of: "globex", in: fixture)
            let twinBo = person("bo", of: "globex", in: fixture)
            let made = try await ana.conversations.create(ConversationDraft(label: "Walks", members: ["bo"]))
            let said = try await ana.conversations.send(MessageDraft(data: "an unmistakable word"), to: made.token)

            for twin in [twinAna, twinBo] {
                #expect(try await twin.conversations.list().items.isEmpty)
                let paths = ["", "/messages", "/changes?after=0"].map { "/conversations/\(made.token)\($0)" }
                for path in paths { #expect(try await twin.ask(.get, path).status == 404, "\(path)") }
                #expect(try await twin.ask(.post, "/conversations/\(made.token)/join").status == 404)
                #expect(
                    try await twin.ask(.post, "/conversations/\(made.token)/messages", #"{"data": "hi"}"#).status == 404
                )
                let read = "/conversations/\(made.token)/messages/\(said.id)/read"
                #expect(try await twin.ask(.post, read).status == 404)
                let found = try await twin.ask(.get, "/conversations/search?q=unmistakable")
                #expect(found.json["messages"].array.isEmpty)
            }
            try await eventually("searchable") {
                try await bo.ask(.get, "/conversations/search?q=unmistakable").json["messages"].array.count == 1
            }
            for twin in [twinAna, twinBo] {
                let found = try await twin.ask(.get, "/conversations/search?q=unmistakable")
                #expect(found.status == 200)
                #expect(found.json["messages"].array.isEmpty)
            }
        }
    }

    @Test("Blocks and direct conversations are separate in each application")
    func blocksAndDirects() async throws {
        try await withConversation { fixture in
            let ana = person("ana", of: "acme", in: fixture)
            let bo = person("bo", of: "acme", in: fixture)
            let twinAna = person("ana", of: "globex", in: fixture)
            let twinBo = person("bo", of: "globex", in: fixture)
            let draft = { (name: String) in ConversationDraft(members: [name], type: "direct") }
            let one = try await ana.conversations.create(draft("bo"))
            let other = try await twinAna.conversations.create(draft("bo"))
            #expect(one.token != other.token)
            #expect(try await bo.conversations.create(draft("ana")).token == one.token)

            #expect(try await ana.ask(.put, "/blocks/bo").status == 200)

            #expect(try await twinAna.ask(.get, "/blocks").json["blocks"].array.isEmpty)
            let path = { (token: String) in "/conversations/\(token)/messages" }
            #expect(try await bo.ask(.post, path(one.token), #"{"data": "hello?"}"#).status == 403)
            #expect(try await twinBo.ask(.post, path(other.token), #"{"data": "hello"}"#).status == 200)
        }
    }

    /// "é" of one scalar and "é" of two scalars are equal as Swift strings, but are two user ids.
    @Test("Users with canonically equivalent ids are different users")
    func canonicallyEquivalentIDs() async throws {
        try await withConversation { fixture in
            let (one, two) = ("ren\u{E9}", "rene\u{301}")
            let ana = person("ana", of: "acme", in: fixture)
            let draft = ConversationDraft(label: "Walks", members: [one, two])
            let made = try await ana.conversations.create(draft)
            #expect(made.members?.count == 3)

            let conversation = try await person(one, of: "acme", in: fixture).conversations
                .create(ConversationDraft(label: "Own", whiteList: .only([])))
            let requester = person(one, of: "acme", in: fixture)
            let other = person(two, of: "acme", in: fixture)
            let list = try await requester.ask(
                .put,
                "/conversations/\(conversation.token)/whiteList",
                #"{"whiteList": ["\#(one)"]}"#
            )
            #expect(list.status == 200)
            #expect(try await other.ask(.post, "/conversations/\(conversation.token)/join").status == 403)
            // A user whose id looks like the creator's can be kicked, unlike the creator.
            let path = "/conversations/\(conversation.token)"
            let name = ServiceClient.percentEncoded(two)
            #expect(try await requester.ask(.put, "\(path)/members/\(name)").status == 200)
            #expect(try await requester.ask(.post, "\(path)/kick", #"{"userId": "\#(two)"}"#).status == 200)
            #expect(try await other.ask(.get, path).status == 404)
            #expect(try await requester.ask(.get, path).status == 200)
            #expect(try await requester.ask(.put, "/blocks/\(name)").status == 200)
        }
    }

    @Test("A revoked session is rejected")
    func sessionEnd() async throws {
        try await withConversation { fixture in
            let id = User.ID(application: "acme", user: "ana")
            let token = fixture.auth.keys.openSession(of: id, session: "s1")
            let ana = Customer(id: id, session: token, service: fixture.service)
            #expect(try await ana.ask(.get, "/conversations").status == 200)

            fixture.auth.keys.revoke("s1")

            // Only the revocation feed can cause this: auth's introspection still reports the session as valid for an hour.
            try await eventually(within: .seconds(60), "refused") {
                try await ana.ask(.get, "/conversations").status == 403
            }
        }
    }
}

/// A user with a session of an application.
private struct Customer: Sendable {
    let id: User.ID
    let session: String
    let service: TestService

    var conversations: ConversationsClient {
        ConversationsClient(
            ServiceClient(callee: "conversations", transport: service.transport, retry: .never) { "Bearer \(session)" }
        )
    }

    func ask(_ method: HTTPRequest.Method, _ path: String, _ body: String? = nil) async throws -> TestHTTPResponse {
        var headers = HTTPFields()
        if let name = HTTPField.Name("x-diuit-session-token") { headers[name] = session }
        return try await service.send(method, path, body: body, headers: headers)
    }
}
