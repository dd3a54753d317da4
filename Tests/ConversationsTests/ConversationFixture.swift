import Configuration
import ConversationsAPI
import Foundation
import HTTPTypes
import ServiceClient
import ServiceHost
import TestSupport
import Wire

@testable import ConversationsServer

/// The service with a conversation that Ana created and Bo is a member of.
struct ConversationFixture: Sendable {
    let service: TestService
    let auth: FakeAuth
    let ana: Person
    let bo: Person
    /// A user who knows the conversation's token but is not a member.
    let eve: Person
    let conversation: Conversation

    var token: String { conversation.token }

    /// Signs a user in, by default in the fixture's application.
    func person(_ name: String, application: String = ConversationFixture.application) async throws -> Person {
        try await Person(User.ID(application: application, user: name), at: service, auth)
    }

    static let application = "other"
}

/// A user who is signed in to a service.
struct Person: SignedInUser {
    let id: User.ID
    let token: String
    let service: TestService
    let conversations: ConversationsClient

    init(_ id: User.ID, at service: TestService, _ auth: FakeAuth) async throws {
        let token = try await auth.keys.token(for: id)
        self.id = id
        self.token = token
        self.service = service
        conversations = ConversationsClient(
            ServiceClient(callee: "conversations", transport: service.transport, retry: .never) { "Bearer \(token)" }
        )
    }

    @discardableResult
    func send(_ text: String, in token: String) async throws -> Message {
        try await conversations.send(MessageDraft(data: text), to: token)
    }
}

extension ConversationsService {
    /// Creates the service with other values of constants.
    ///
    /// Writes wait long before they fail, because a busy machine may delay them by seconds.
    fileprivate static func patient(
        _ resources: ServiceResources,
        _ reader: ConfigReader,
        change: (inout ConversationsConfiguration) -> Void = { _ in }
    ) async throws -> ConversationsService {
        var configuration = try ConversationsConfiguration(reader)
        configuration.sendDeadline = .seconds(60)
        change(&configuration)
        return try await ConversationsService(resources, reader, configuration)
    }
}

func withConversation(
    settings: [String: String] = [:],
    change: (inout ConversationsConfiguration) -> Void = { _ in },
    push: FakePush? = nil,
    _ draft: ConversationDraft = ConversationDraft(label: "Walks", members: ["bo"]),
    _ body: (ConversationFixture) async throws -> Void
) async throws {
    let auth = FakeAuth()
    try await TestService.with(
        ConversationsService.self,
        settings: settings.merging(push.map { _ in ["PUSH_URL": "http://push.test"] } ?? [:]) { $1 },
        peers: .with(["auth": auth.client].merging(push.map { ["push": $0.client] } ?? [:]) { $1 }),
        makeService: { try await .patient($0, $1, change: change) }
    ) { service in
        let ana = try await Person(
            User.ID(application: ConversationFixture.application, user: "ana"),
            at: service,
            auth
        )
        let fixture = ConversationFixture(
            service: service,
            auth: auth,
            ana: ana,
            bo: try await Person(
                User.ID(application: ConversationFixture.application, user: "bo"),
                at: service,
                auth
            ),
            eve: try await Person(
                User.ID(application: ConversationFixture.application, user: "eve"),
                at: service,
                auth
            ),
            conversation: try await ana.conversations.create(draft)
        )
        try await body(fixture)
    }
}

/// Runs a second instance of the service over the same database, with Bo as its client.
func withSecondInstance(
    of fixture: ConversationFixture,
    push: FakePush? = nil,
    _ body: (Person) async throws -> Void
) async throws {
    try await TestService.with(
        ConversationsService.self,
        over: fixture.service.database,
        settings: push.map { _ in ["PUSH_URL": "http://push.test"] } ?? [:],
        peers: .with(["auth": fixture.auth.client].merging(push.map { ["push": $0.client] } ?? [:]) { $1 }),
        makeService: { try await .patient($0, $1) }
    ) { second in
        try await body(try await Person(fixture.bo.id, at: second, fixture.auth))
    }
}
