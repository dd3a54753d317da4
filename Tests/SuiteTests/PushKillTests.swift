import AuthAPI
import ChildProcesses
import ConversationsAPI
import Foundation
import Glibc
import PushAPI
import Testing

extension SuiteTests {
    @Suite("Push during kills") struct PushKillTests {
        private static let senders = 16
        /// The number of messages of each sender in a round, in the middle of which a process is killed.
        private static let messages = SuiteTests.isSoak ? 125 : 25
        private static let victims =
            (0..<(SuiteTests.isSoak ? 10 : 1)).flatMap { _ in ["push", "postgresql", "push", "push", "postgresql"] }
        /// The most notifications in flight to one provider (`PUSH_IN_FLIGHT_PER_PROVIDER_MAX`).
        ///
        /// A crash leaves at most as many notifications that were accepted and not recorded.
        private static let inFlight = 200

        @Test("Every message is notified despite kills, with a bounded number of duplicates")
        func notifications() async throws {
            let settings = [
                "RATE_USER": "0", "RATE_ADDRESS": "0", "RATE_REGISTER": "0",
                "PUSH_IN_FLIGHT_PER_PROVIDER_MAX": "\(Self.inFlight)",
                "SANDBOX_NOTIFICATIONS_MAX": "50000",
            ]
            try await FakePhones.with(settings: settings) { suite, phones in
                let away = try await suite.person("away")
                let phone = String(repeating: "c3", count: 32)
                try await away.preferences.register(DeviceDraft(platform: "ios_production", token: phone))
                var people: [Person] = []
                for number in 1...4 { people.append(try await suite.person("sender\(number)")) }
                let made = try await people[0].conversations.create(
                    ConversationDraft(label: "load", members: [away.signIn.userId])
                )
                for person in people.dropFirst() { try await person.conversations.join(made.token) }
                let load = MessageLoad(token: made.token, people: people, senders: Self.senders)

                var arrived: Set<String> = []
                var last = 0
                func collect() async throws {
                    for notification in try await phones.notifications(after: last) {
                        last = notification.number
                        // "sender1: run 1, sender 0, message 0"
                        arrived.insert(String(try #require(notification.body).drop { $0 != ":" }.dropFirst(2)))
                    }
                }
                for victim in Self.victims {
                    let sending = Task { try await load.run(messages: Self.messages) }
                    try await eventually(within: .seconds(60), "under way") {
                        load.acknowledgedInLastRun >= Self.senders * Self.messages / 2
                    }
                    try suite.process(victim).signal(SIGKILL)
                    try await sending.value
                    try await collect()
                }

                let sent = Set(load.acknowledged.keys)
                #expect(sent.count == Self.victims.count * Self.senders * Self.messages)
                let began = ContinuousClock.now
                try await eventually(within: .seconds(SuiteTests.isSoak ? 900 : 300), "all notifications received") {
                    try await collect()
                    return arrived.isSuperset(of: sent)
                }
                #expect(arrived == sent)
                let counts = try await phones.counts()
                let duplicates = counts.accepted - sent.count
                let took = ContinuousClock.now - began
                print("push: \(sent.count) notifications, \(Self.victims.count) kills, \(duplicates) duplicates")
                print("push: all received \(took) after the last message")
                #expect(duplicates <= Self.victims.count * Self.inFlight)
                // A duplicate can be recognized, because it has the ID of the first notification.
                #expect(counts.duplicates == duplicates)
            }
        }
    }
}
