import Foundation
import Locks

/// The mails that the sandbox has taken, the newest of them.
package final class Mailbox: Sendable {
    /// Bytes of all that is kept.
    private static let room = 64 * 1_024 * 1_024

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

    func take(_ content: EmailContent, raw: String, from sender: String, to receiver: String) {
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
            while state.mails.count > capacity || state.size > Self.room {
                state.size -= state.mails.removeFirst().raw.utf8.count
            }
        }
    }

    /// The mails behind a number, oldest first, to one receiver if one is named.
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
