import ConversationsAPI
import Foundation
import HTTPTypes
import Postgres
import TestSupport
import Testing
import Wire

/// Every route × everybody who may come along.
@Suite struct AuthorizationMatrixTests {
    enum Role: String, CaseIterable, Sendable {
        case creator, admin, member, former, kicked, stranger, foreigner, anonymous
    }

    struct Route: Sendable, CustomTestStringConvertible {
        let method: HTTPRequest.Method
        let path: String
        var body: String?
        /// The answer to each; who is not named is no member, and gets 404.
        let answers: [Role: Int]

        var testDescription: String { "\(method) \(path)" }

        func answer(to role: Role) -> Int { role == .anonymous ? 403 : answers[role] ?? 404 }
    }

    static let anySignedIn: [Role: Int] = Dictionary(
        uniqueKeysWithValues: Role.allCases.map { ($0, 200) }
    )
    static let members: [Role: Int] = [.creator: 200, .admin: 200, .member: 200]
    static let admins: [Role: Int] = [.creator: 200, .admin: 200, .member: 403]

    static let routes: [Route] = [
        Route(method: .post, path: "/conversations/create", body: #"{"label": "x"}"#, answers: anySignedIn),
        Route(method: .get, path: "/conversations", answers: anySignedIn),
        Route(method: .get, path: "/conversations/{token}", answers: members),
        Route(
            method: .delete,
            path: "/conversations/{token}",
            answers: [.creator: 200, .admin: 403, .member: 403]
        ),
        Route(method: .get, path: "/conversations/search?q=hello", answers: anySignedIn),
        Route(
            method: .post,
            path: "/conversations/{token}/join",
            answers: [.creator: 200, .admin: 200, .member: 200, .former: 200, .kicked: 403, .stranger: 200]
        ),
        Route(method: .post, path: "/conversations/{token}/leave", answers: members),
        Route(method: .post, path: "/conversations/{token}/token", answers: admins),
        Route(method: .put, path: "/conversations/{token}/label", body: #"{"label": "y"}"#, answers: members),
        Route(method: .put, path: "/conversations/{token}/meta", body: #"{"meta": {}}"#, answers: members),
        Route(method: .put, path: "/conversations/{token}/whiteList", body: #"{"whiteList": []}"#, answers: admins),
        Route(method: .post, path: "/conversations/{token}/kick", body: #"{"userId": "target"}"#, answers: admins),
        Route(method: .put, path: "/conversations/{token}/members/newcomer", answers: admins),
        Route(method: .delete, path: "/conversations/{token}/members/target", answers: admins),
        Route(method: .put, path: "/conversations/{token}/admins/target", answers: admins),
        Route(method: .delete, path: "/conversations/{token}/admins/target", answers: admins),
        Route(method: .put, path: "/conversations/{token}/push", answers: members),
        Route(method: .delete, path: "/conversations/{token}/push", answers: members),
        Route(method: .get, path: "/blocks", answers: anySignedIn),
        Route(method: .put, path: "/blocks/target", answers: anySignedIn.merging([.foreigner: 400]) { $1 }),
        Route(method: .delete, path: "/blocks/target", answers: anySignedIn),
        Route(method: .get, path: "/conversations/{token}/messages", answers: members),
        Route(method: .post, path: "/conversations/{token}/messages", body: #"{"data": "x"}"#, answers: members),
        Route(method: .post, path: "/conversations/{token}/messages/{id}/read", answers: members),
        Route(
            method: .patch,
            path: "/conversations/{token}/messages/{id}",
            body: #"{"data": "y"}"#,
            answers: [.creator: 200, .admin: 403, .member: 403]
        ),
        Route(method: .delete, path: "/conversations/{token}/messages/{id}", answers: admins),
        Route(method: .put, path: "/conversations/{token}/messages/{id}/reactions/%F0%9F%91%8D", answers: members),
        Route(method: .delete, path: "/conversations/{token}/messages/{id}/reactions/%F0%9F%91%8D", answers: members),
        Route(method: .post, path: "/conversations/{token}/read", body: #"{"before": 0}"#, answers: members),
        Route(method: .get, path: "/conversations/{token}/changes?after=0", answers: members),
    ]

    @Test(arguments: routes)
    func matrix(_ route: Route) async throws {
        let draft = ConversationDraft(label: "x", members: ["admin", "member", "former", "kicked", "target"])
        try await withConversation(draft) { fixture in
            for role in Role.allCases {
                // A conversation of its own for each, since what one does changes what the next may.
                let conversation = try await fixture.ann.conversations.create(draft)
                _ = try await fixture.ann.ask(.put, "/conversations/\(conversation.token)/admins/admin")
                try await fixture.person("former").conversations.leave(conversation.token)
                try await fixture.ann.conversations.kick("kicked", from: conversation.token)
                let message = try await fixture.ann.send("hello", in: conversation.token)
                let path = route.path.replacingOccurrences(of: "{token}", with: conversation.token)
                    .replacingOccurrences(of: "{id}", with: "\(message.id)")
                let before = try await fixture.footprint(of: conversation)

                let answer = try await fixture.ask(as: role, route.method, path, route.body)

                #expect(answer.status == route.answer(to: role), "\(role) \(answer.text)")
                if answer.status != 200 { #expect(try await fixture.footprint(of: conversation) == before) }
                // A user who is blocked cannot be added to the next conversation.
                if route.method == .put, route.path == "/blocks/target" {
                    _ = try await fixture.ask(as: role, .delete, route.path, nil)
                }
            }
        }
    }

    /// What a stranger is told of a conversation is what he is told of none.
    @Test func indistinguishable() async throws {
        try await withConversation { fixture in
            let madeUp = Base64URL.random(bytes: 16) + "\(fixture.conversation.id)"
            for suffix in ["", "/messages", "/changes?after=0"] {
                let real = try await fixture.eve.ask(.get, "/conversations/\(fixture.token)\(suffix)")
                let none = try await fixture.eve.ask(.get, "/conversations/\(madeUp)\(suffix)")
                #expect(real.status == none.status)
                #expect(real.problem?.code == none.problem?.code)
                #expect(real.problem?.detail == none.problem?.detail)
            }
        }
    }

    @Test func notFound() async throws {
        try await withConversation { fixture in
            for path in [
                "/conversations/\(fixture.token)/push", "/conversations/\(fixture.token)/nothing", "/blocks/x", "/x",
            ] {
                let status = try await fixture.ann.ask(.get, path).status
                #expect([404, 405].contains(status), "\(path)")
            }
            let wrong = try await fixture.ann.ask(.patch, "/conversations/\(fixture.token)")
            #expect(wrong.status == 405)
            for token in [
                "x", "%00", "..", String(repeating: "a", count: 22),
                String(repeating: "a", count: 22) + "99999999999999999999",
            ] {
                #expect(try await fixture.ann.ask(.get, "/conversations/\(token)").status == 404)
            }
        }
    }
}

extension ConversationFixture {
    fileprivate func ask(
        as role: AuthorizationMatrixTests.Role,
        _ method: HTTPRequest.Method,
        _ path: String,
        _ body: String?
    ) async throws -> TestHTTPResponse {
        switch role {
        case .anonymous: try await service.send(method, path, body: body)
        case .creator: try await ann.ask(method, path, body)
        case .foreigner: try await person("ann", application: RoostApplication.id).ask(method, path, body)
        case .admin, .member, .former, .kicked, .stranger: try await person(role.rawValue).ask(method, path, body)
        }
    }

    /// All that a request about this conversation could have changed.
    fileprivate func footprint(of conversation: Conversation) async throws -> [String] {
        let id = conversation.id.rawValue
        return try await service.database.pool.all(
            """
            SELECT conversations::text AS row FROM conversations WHERE conversation_id = \(id)
            UNION ALL SELECT heads::text FROM heads WHERE conversation_id = \(id)
            UNION ALL SELECT members::text FROM members WHERE conversation_id = \(id)
            UNION ALL SELECT kicks::text FROM kicks WHERE conversation_id = \(id)
            UNION ALL SELECT messages::text FROM messages WHERE conversation_id = \(id)
            UNION ALL SELECT reactions::text FROM reactions WHERE conversation_id = \(id)
            ORDER BY 1
            """,
            as: { try $0.string("row") }
        )
    }
}
