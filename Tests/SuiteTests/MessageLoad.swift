import ConversationsAPI
import Synchronization
import Testing
import Wire

/// Senders that repeat each message, with the same `clientMessageId`, until it is acknowledged.
final class MessageLoad: Sendable {
    private struct State {
        /// All texts that were sent, acknowledged or not.
        var attempted: Set<String> = []
        var acknowledged: [String: Int64] = [:]
        var acknowledgedCount = 0
        var retries = 0
        var runs = 0
        var permanentErrors: [APIError] = []
    }

    let token: String
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
    var acknowledgedInLastRun: Int { state.withLock(\.acknowledgedCount) }
    var retries: Int { state.withLock(\.retries) }
    /// The errors that are not transient, of which there must be none.
    var permanentErrors: [APIError] { state.withLock(\.permanentErrors) }

    func run(messages: Int) async throws {
        let run = state.withLock { state in
            state.acknowledgedCount = 0
            state.runs += 1
            return state.runs
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for sender in 0..<senders {
                group.addTask {
                    for message in 0..<messages {
                        try await self.sendUntilAcknowledged(
                            "run \(run), sender \(sender), message \(message)",
                            by: self.people[sender % self.people.count]
                        )
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    /// Checks the whole history: `seq` is 1…n, and there is no duplicate, unknown, missing or changed message.
    ///
    /// - Parameters:
    ///   - person: The user who reads the history.
    ///   - least: The messages that must be there, by default all that were acknowledged.
    /// - Throws: The error of a read.
    func check(by person: Person, atLeast least: [String: Int64]? = nil) async throws {
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
        #expect(found.count == written.count, "a message is duplicated")
        let (attempted, acknowledged) = state.withLock { ($0.attempted, $0.acknowledged) }
        #expect(attempted.isSuperset(of: found.keys), "the history has a message that was not sent")
        for (text, seq) in least ?? acknowledged where found[text] != seq {
            Issue.record("\(text) was acknowledged as \(seq) and is \(found[text].map(String.init) ?? "missing")")
        }
        let changed = found.filter { text, seq in acknowledged[text].map { $0 != seq } ?? false }
        #expect(changed.isEmpty, "an acknowledged message has another seq")
        #expect(permanentErrors.isEmpty, "\(permanentErrors.prefix(3))")
    }

    private func sendUntilAcknowledged(_ text: String, by person: Person) async throws {
        let deadline = ContinuousClock.now + .seconds(120)
        _ = state.withLock { $0.attempted.insert(text) }
        while true {
            do {
                let draft = MessageDraft(data: text, clientMessageId: text)
                let message = try await person.conversations.send(draft, to: token)
                return state.withLock { state in
                    state.acknowledged[text] = message.seq
                    state.acknowledgedCount += 1
                }
            } catch {
                let permanentError = (error as? APIError).flatMap { $0.kind.isTransient ? nil : $0 }
                state.withLock { state in
                    state.retries += 1
                    state.permanentErrors += permanentError.map { [$0] } ?? []
                }
                guard permanentError == nil, ContinuousClock.now < deadline else {
                    throw error
                }
                try await Task.sleep(for: .milliseconds(50))
            }
        }
    }
}

extension APIError.Kind {
    /// Whether the same request may succeed later.
    fileprivate var isTransient: Bool {
        switch self {
        case .unavailable, .badGateway, .gatewayTimeout, .rateLimited: true
        default: false
        }
    }
}
