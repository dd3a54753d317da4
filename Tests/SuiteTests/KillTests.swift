import AuthAPI
import ChildProcesses
import ConversationsAPI
import Foundation
import HTTPTypes
import Glibc
import ServiceClient
import Synchronization
import Testing
import Wire

/// What holds when processes are killed under load.
extension SuiteTests {
    @Suite struct KillTests {
        private static let senders = 32
        /// What each sender says before, and again after, each kill.
        private static let messages = SuiteTests.isSoak ? 200 : 10
        private static let rounds = SuiteTests.isSoak ? 5 : 1
        /// How soon all must be back, by itself.
        private static let limit = Duration.seconds(5)

        @Test func whatWasAcknowledgedIsThereOnceWhateverIsKilled() async throws {
            try await RunningSuite.with(settings: ["RATE_USER": "0", "RATE_ADDRESS": "0", "RATE_REGISTER": "0"]) {
                suite in
                var people: [Person] = []
                for number in 1...4 {
                    people.append(try await suite.person("sender\(number)"))
                }
                let made = try await people[0].conversations.create(ConversationDraft(label: "load"))
                for person in people.dropFirst() {
                    try await person.conversations.join(made.token)
                }
                let load = Load(token: made.token, people: people, senders: Self.senders)

                for _ in 1...Self.rounds {
                    for victim in ["auth", "conversations", "gateway", "postgresql"] {
                        let sending = Task { try await load.run(messages: Self.messages * 2) }
                        try await eventually(within: .seconds(60), "under way") {
                            load.acknowledgedInRun >= Self.senders * Self.messages
                        }
                        let process = try suite.process(victim)
                        process.signal(SIGKILL)
                        let killed = ContinuousClock.now
                        try await isBack(suite, after: killed, token: made.token, by: people[0])
                        let took = ContinuousClock.now - killed
                        #expect(took < Self.limit, "\(victim) was back after \(took)")
                        #expect(!process.isAlive)
                        try await sending.value
                        print("\(victim): back after \(took), \(load.retries) tries failed so far")
                    }
                }

                try await check(load, by: people[0], token: made.token)
            }
        }

        /// Waits until somebody can sign in, write and read again, and every service says that it is ready.
        private func isBack(
            _ suite: RunningSuite,
            after killed: ContinuousClock.Instant,
            token: String,
            by person: Person
        ) async throws {
            let login = LoginDraft(username: person.name, password: "a password of \(person.name)")
            let deadline = killed + .seconds(30)
            func succeeds(_ body: () async throws -> Void) async throws {
                try await eventually(within: deadline - .now, "back") {
                    do {
                        try await body()
                        return true
                    } catch {
                        return false
                    }
                }
            }
            for port in [suite.authPort, suite.conversationsPort, suite.gatewayPort] {
                try await succeeds { _ = try await suite.client(port: port, jwt: nil).send(.get, "/ready") }
            }
            try await succeeds { let _: SignIn = try await suite.gateway().post("/auth/login", login) }
            try await succeeds { _ = try await person.conversations.messages(token) }
        }

        /// Reads the whole history back: `seq` is 1…n, and every acknowledged message is there once, as acknowledged.
        private func check(_ load: Load, by person: Person, token: String) async throws {
            var history: [Message] = []
            var page: [Message] = []
            repeat {
                let after = history.last?.seq ?? 0
                page = try await person.conversations.messages(
                    token,
                    query: [("afterSeq", "\(after)"), ("count", "100")]
                ).sorted { $0.seq < $1.seq }
                history += page
            } while !page.isEmpty

            #expect(history.map(\.seq) == Array(1...Int64(history.count)))
            let written = history.compactMap { message in message.clientMessageId.map { ($0, message.seq) } }
            let found = Dictionary(written, uniquingKeysWith: { first, _ in first })
            #expect(found.count == written.count, "a message is there twice")
            #expect(load.acknowledged == found, "what was acknowledged is not what is there")
            #expect(load.refusals.isEmpty, "\(load.refusals.prefix(3))")
        }
    }
}

/// Senders that say each message again, with the same `clientMessageId`, until it is acknowledged.
private final class Load: Sendable {
    private struct State {
        var acknowledged: [String: Int64] = [:]
        var inRun = 0
        var retries = 0
        var runs = 0
        var refusals: [APIError] = []
    }

    private let token: String
    private let people: [Person]
    private let senders: Int
    private let state = Mutex(State())

    init(token: String, people: [Person], senders: Int) {
        self.token = token
        self.people = people
        self.senders = senders
    }

    /// `seq` by `clientMessageId`.
    var acknowledged: [String: Int64] { state.withLock(\.acknowledged) }
    var acknowledgedInRun: Int { state.withLock(\.inRun) }
    var retries: Int { state.withLock(\.retries) }
    /// Answers that no repeating would have changed; there must be none.
    var refusals: [APIError] { state.withLock(\.refusals) }

    func run(messages: Int) async throws {
        let run = state.withLock { state in
            state.inRun = 0
            state.runs += 1
            return state.runs
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for sender in 0..<senders {
                group.addTask {
                    for message in 0..<messages {
                        try await self.say(
                            "run \(run), sender \(sender), message \(message)",
                            by: self.people[sender % self.people.count]
                        )
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    private func say(_ text: String, by person: Person) async throws {
        let deadline = ContinuousClock.now + .seconds(60)
        while true {
            do {
                let draft = MessageDraft(data: text, clientMessageId: text)
                let message = try await person.conversations.send(draft, to: token)
                return state.withLock { state in
                    state.acknowledged[text] = message.seq
                    state.inRun += 1
                }
            } catch {
                let refusal = (error as? APIError).flatMap { $0.kind.isPassing ? nil : $0 }
                state.withLock { state in
                    state.retries += 1
                    state.refusals += refusal.map { [$0] } ?? []
                }
                guard refusal == nil, ContinuousClock.now < deadline else {
                    throw error
                }
                try await Task.sleep(for: .milliseconds(50))
            }
        }
    }
}

extension APIError.Kind {
    /// Whether the same request may be answered otherwise a little later.
    fileprivate var isPassing: Bool {
        switch self {
        case .unavailable, .badGateway, .gatewayTimeout, .rateLimited: true
        default: false
        }
    }
}
