import ConversationsAPI
import Foundation
import HTTPTypes
import Postgres
import TestSupport
import Testing
import Wire

/// Every route with every role of its caller.
@Suite("Authorization matrix") struct AuthorizationMatrixTests {
    enum Role: String, CaseIterable, Sendable {
        case creator, admin, member, former, kicked, stranger, foreigner, anonymous
    }

    typealias Route = AuthorizationMatrix<Role>.Route

    static let anySignedIn: [Role: Int] = Dictionary(
        uniqueKeysWithValues: Role.allCases.map { ($0, $0 == .anonymous ? 403 : 200) }
    )
    static let members: [Role: Int] = [.creator: 200, .admin: 200, .member: 200, .anonymous: 403]
    static let admins: [Role: Int] = [.creator: 200, .admin: 200, .member: 403, .anonymous: 403]

    static let routes: [Route] = [
        Route(.post, "/conversations/create", #"{"label": "x"}"#, statuses: anySignedIn),
        Route(.get, "/conversations", statuses: anySignedIn),
        Route(.get, "/conversations/{token}", statuses: members),
        Route(
            .delete,
            "/conversations/{token}",
            statuses: [.creator: 200, .admin: 403, .member: 403, .anonymous: 403]
        ),
        Route(.get, "/conversations/search?q=hello", statuses: anySignedIn),
        Route(
            .post,
            "/conversations/{token}/join",
            statuses: [
                .creator: 200, .admin: 200, .member: 200, .former: 200, .kicked: 403, .stranger: 200, .anonymous: 403,
            ]
        ),
        Route(.post, "/conversations/{token}/leave", statuses: members),
        Route(.post, "/conversations/{token}/token", statuses: admins),
        Route(.put, "/conversations/{token}/label", #"{"label": "y"}"#, statuses: members),
        Route(.put, "/conversations/{token}/meta", #"{"meta": {}}"#, statuses: members),
        Route(.put, "/conversations/{token}/whiteList", #"{"whiteList": []}"#, statuses: admins),
        Route(.post, "/conversations/{token}/kick", #"{"userId": "target"}"#, statuses: admins),
        Route(.put, "/conversations/{token}/members/newcomer", statuses: admins),
        Route(.delete, "/conversations/{token}/members/target", statuses: admins),
        Route(.put, "/conversations/{token}/admins/target", statuses: admins),
        Route(.delete, "/conversations/{token}/admins/target", statuses: admins),
        Route(.put, "/conversations/{token}/push", statuses: members),
        Route(.delete, "/conversations/{token}/push", statuses: members),
        Route(.get, "/blocks", statuses: anySignedIn),
        Route(.put, "/blocks/target", statuses: anySignedIn.merging([.foreigner: 400]) { $1 }),
        Route(.delete, "/blocks/target", statuses: anySignedIn),
        Route(.get, "/conversations/{token}/messages", statuses: members),
        Route(.post, "/conversations/{token}/messages", #"{"data": "x"}"#, statuses: members),
        Route(.post, "/conversations/{token}/messages/{id}/read", statuses: members),
        Route(
            .patch,
            "/conversations/{token}/messages/{id}",
            #"{"data": "y"}"#,
            statuses: [.creator: 200, .admin: 403, .member: 403, .anonymous: 403]
        ),
        Route(.delete, "/conversations/{token}/messages/{id}", statuses: admins),
        Route(.put, "/conversations/{token}/messages/{id}/reactions/%F0%9F%91%8D", statuses: members),
        Route(.delete, "/conversations/{token}/messages/{id}/reactions/%F0%9F%91%8D", statuses: members),
        Route(.post, "/conversations/{token}/read", #"{"before": 0}"#, statuses: members),
        Route(.get, "/conversations/{token}/changes?after=0", statuses: members),
    ]

    @Test("A route responds to each role with its status, and a rejected request changes nothing", arguments: routes)
    func matrix(_ route: Route) async throws {
        let draft = ConversationDraft(label: "x", members: ["admin", "member", "former", "kicked", "target"])
        try await withConversation(draft) { fixture in
            for role in Role.allCases {
                // Each role gets its own conversation, because one role's request changes what the next role may do.
                let conversation = try await fixture.ana.conversations.create(draft)
                _ = try await fixture.ana.ask(.put, "/conversations/\(conversation.token)/admins/admin")
                try await fixture.person("former").conversations.leave(conversation.token)
                try await fixture.ana.conversations.kick("kicked", from: conversation.token)
                let message = try await fixture.ana.send("hello", in: conversation.token)
                let values = ["token": conversation.token, "id": "\(message.id)"]
                let before = try await fixture.footprint(of: conversation)

                let response = try await route.expectStatus(for: role, values: values) { method, path, body in
                    try await fixture.ask(as: role, method, path, body)
                }

                if response.status != 200 { #expect(try await fixture.footprint(of: conversation) == before) }
                // A user who is blocked cannot be added to the next conversation.
                if route.method == .put, route.path == "/blocks/target" {
                    _ = try await fixture.ask(as: role, .delete, route.path, nil)
                }
            }
        }
    }

    @Test("A stranger cannot distinguish a conversation from one that does not exist")
    func indistinguishable() async throws {
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

    @Test("Unknown paths and tokens respond 404, and unsupported methods 405")
    func notFound() async throws {
        try await withConversation { fixture in
            for path in [
                "/conversations/\(fixture.token)/push", "/conversations/\(fixture.token)/nothing", "/blocks/x", "/x",
            ] {
                let status = try await fixture.ana.ask(.get, path).status
                #expect([404, 405].contains(status), "\(path)")
            }
            let wrong = try await fixture.ana.ask(.patch, "/conversations/\(fixture.token)")
            #expect(wrong.status == 405)
            for token in [
                "x", "%00", "..", String(repeating: "a", count: 22),
                String(repeating: "a", count: 22) + "99999999999999999999",
            ] {
                #expect(try await fixture.ana.ask(.get, "/conversations/\(token)").status == 404)
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
        case .creator: try await ana.ask(method, path, body)
        case .foreigner: try await person("ana", application: RoostApplication.id).ask(method, path, body)
        case .admin, .member, .former, .kicked, .stranger: try await person(role.rawValue).ask(method, path, body)
        }
    }

    /// Returns every row that a request to this conversation could have changed.
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
