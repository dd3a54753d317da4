import ConversationsAPI
import Foundation
import TestSupport
import Testing
import Wire

@testable import ConversationsServer

/// The fixture of `withConversation` with its service on a port.
struct SocketFixture: Sendable {
    let fixture: ConversationFixture
    let port: Int

    var ana: Person { fixture.ana }
    var bo: Person { fixture.bo }
    var eve: Person { fixture.eve }
    /// The chat's id.
    var chat: Int64 { fixture.conversation.id.rawValue }

    /// Opens a socket and signs a user in.
    func socket(of person: Person) async throws -> SocketClient {
        let socket = try await SocketClient(port: port)
        let answer = try await socket.ask("authenticate", #"{"authToken":"\#(person.token)"}"#)
        try #require(answer["code"].int == 200, "\(answer)")
        return socket
    }

    func stranger() async throws -> SocketClient { try await SocketClient(port: port) }

    /// Creates a direct chat of Ana and Bo.
    func direct() async throws -> Int64 {
        try await ana.conversations.create(ConversationDraft(members: ["bo"], type: "direct")).id.rawValue
    }
}

func withSockets(
    settings: [String: String] = [:],
    change: (inout ConversationsConfiguration) -> Void = { _ in },
    _ draft: ConversationDraft = ConversationDraft(label: "Walks", members: ["bo"]),
    _ body: (SocketFixture) async throws -> Void
) async throws {
    try await withConversation(settings: settings, change: change, draft) { fixture in
        try await withServer(fixture.service) { port in
            try await body(SocketFixture(fixture: fixture, port: port))
        }
    }
}

extension JSONValue {
    var code: Int? { self["code"].int }
}
