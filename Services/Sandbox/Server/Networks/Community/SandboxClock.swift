package import Foundation
import Locks

/// The time that the networks go by: this machine's, until it is moved.
package final class SandboxClock: Sendable {
    private let base: @Sendable () -> Date
    private let offset = Lock<TimeInterval>(0)

    init(_ base: @escaping @Sendable () -> Date) {
        self.base = base
    }

    package var now: Date { base() + offset.withLock { $0 } }

    /// Moves it by seconds, forwards or back.
    package func move(by seconds: TimeInterval) {
        offset.withLock { $0 += seconds }
    }
}
