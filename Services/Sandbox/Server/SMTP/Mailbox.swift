import Foundation
import Locks

/// The newest mails that the sandbox received.
package final class Mailbox: Sendable {
    /// The maximum size of all stored mails in bytes.
    private static let maximumSize = 64 * 1_024 * 1_024

    private struct State {
        var mails: [ReceivedEmail] = []
        var size = 0
        var last = 0
    }

    private let capacity: Int
    private let now: @Sendable () -> Date
    private let state = Lock(State())

    init(capacity: Int, now: @escaping @Sendable () -> Date) {
        self.capacity = capacity
        self.now = now
    }

    func add(_ content: EmailContent, raw: String, from sender: String, to receiver: String) {
        state.withLock { state in
            state.last += 1
            let before = state.mails.filter { $0.messageId == content.messageID && $0.receiver == receiver }
            state.mails.append(
                ReceivedEmail(
                    number: state.last,
                    sender: sender,
                    receiver: receiver,
                    subject: content.subject,
                    text: content.text,
                    messageId: content.messageID,
                    receivedAt: now(),
                    copies: before.count + 1,
                    raw: raw
                )
            )
            state.size += raw.utf8.count
            while state.mails.count > capacity || state.size > Self.maximumSize {
                state.size -= state.mails.removeFirst().raw.utf8.count
            }
        }
    }

    /// Returns the mails after a number, oldest first, optionally of one receiver.
    package func mails(to receiver: String? = nil, after number: Int = 0, limit: Int = 1_000) -> [ReceivedEmail] {
        state.withLock { state in
            Array(
                state.mails.lazy
                    .filter { $0.number > number && (receiver == nil || $0.receiver == receiver) }
                    .prefix(limit)
            )
        }
    }

    package func clear() {
        state.withLock { state in
            state.mails = []
            state.size = 0
        }
    }
}
