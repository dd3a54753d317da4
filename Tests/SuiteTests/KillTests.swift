import AuthAPI
import ChildProcesses
import ConversationsAPI
import Foundation
import HTTPTypes
import Glibc
import ServiceClient
import Testing

extension SuiteTests {
    @Suite("Kills under load") struct KillTests {
        private static let senders = 32
        /// The number of messages of each sender before each kill, and again after it.
        private static let messages = SuiteTests.isSoak ? 200 : 10
        private static let rounds = SuiteTests.isSoak ? 5 : 1
        /// The limit for recovery after a kill, which is longer where other tests run in parallel.
        private static let limit = Duration.seconds(SuiteTests.isSoak ? 5 : 60)

        @Test("Acknowledged messages survive a kill of each process")
        func acknowledgedMessages() async throws {
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
                let load = MessageLoad(token: made.token, people: people, senders: Self.senders)

                for _ in 1...Self.rounds {
                    for victim in ["auth", "conversations", "photos", "push", "gateway", "postgresql"] {
                        let sending = Task { try await load.run(messages: Self.messages * 2) }
                        try await eventually(within: .seconds(60), "under way") {
                            load.acknowledgedInLastRun >= Self.senders * Self.messages
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

                try await load.check(by: people[0])
            }
        }

        /// Waits until every service is ready, and a user can sign in and read.
        private func isBack(
            _ suite: RunningSuite,
            after killed: ContinuousClock.Instant,
            token: String,
            by person: Person
        ) async throws {
            let login = LoginDraft(username: person.name, password: "a password of \(person.name)")
            let deadline = killed + .seconds(60)
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
            let services = [suite.authPort, suite.conversationsPort, suite.photosPort, suite.pushPort]
            for port in services + [suite.gatewayPort] {
                try await succeeds { _ = try await suite.client(port: port, jwt: nil).send(.get, "/ready") }
            }
            try await succeeds { let _: SignIn = try await suite.gateway().post("/auth/login", login) }
            try await succeeds { _ = try await person.conversations.messages(token) }
        }
    }
}
