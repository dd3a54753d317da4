import ConversationsAPI
import TestSupport
import Testing
import Wire

@testable import ConversationsServer

@Suite("Killed clients") struct CloseStormTests {
    private static let sockets = 24
    private static let rounds = 3
    /// The number of messages to each conversation in a round.
    private static let messages = 4

    @Test(
        "All sockets of an account may close at once while messages are delivered",
        arguments: KilledClient.Transport.allCases,
        [3, 4]
    )
    func storm(_ transport: KilledClient.Transport, revision: Int) async throws {
        // With WebSockets, the clients of a round need the capacity of the clients killed in the round before.
        // A polling session outlives its connections until it misses a ping.
        let limit = transport == .polling ? Self.sockets * Self.rounds : Self.sockets
        try await withSockets(
            settings: ["SOCKETS_PER_USER_MAX": "\(limit)"],
            change: { ($0.pingInterval, $0.pingTimeout) = (.seconds(60), .seconds(60)) }
        ) { fixture in
            let runs = ConversationDraft(label: "Runs", members: ["bo"])
            let swims = ConversationDraft(label: "Swims", members: ["bo"])
            let tokens = [
                fixture.fixture.token, try await fixture.ana.conversations.create(runs).token,
                try await fixture.ana.conversations.create(swims).token,
            ]
            let listener = try await fixture.socket(of: fixture.bo)
            for round in 0..<Self.rounds {
                let clients = try await open(transport, revision, fixture)
                async let sending: Void = send("\(round)", in: tokens, by: fixture.ana)
                for client in clients { client.kill() }
                try await sending
                // Bo's socket is in the same rooms, and misses no message.
                var texts: [String] = []
                while texts.count < tokens.count * Self.messages {
                    texts.append(try await listener.event("message")["data"].string ?? "")
                }
                let expected = (0..<Self.messages).flatMap { number in tokens.map { _ in "\(round) \(number)" } }
                #expect(texts.sorted() == expected.sorted())
            }
        }
    }

    private func open(
        _ transport: KilledClient.Transport,
        _ revision: Int,
        _ fixture: SocketFixture
    ) async throws -> [KilledClient] {
        let (port, token) = (fixture.port, fixture.ana.token)
        return try await withThrowingTaskGroup(of: KilledClient.self) { tasks in
            for _ in 0..<Self.sockets {
                tasks.addTask { try await .open(port: port, transport, revision: revision, token: token) }
            }
            return try await tasks.reduce(into: []) { $0.append($1) }
        }
    }

    private func send(_ prefix: String, in tokens: [String], by person: Person) async throws {
        for number in 0..<Self.messages {
            for token in tokens { try await person.send("\(prefix) \(number)", in: token) }
        }
    }
}
