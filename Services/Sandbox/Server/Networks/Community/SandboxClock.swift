package import Foundation
import Locks

/// The clock of the networks: the time of this machine plus an offset that tests can change.
package final class SandboxClock: Sendable {
    private let base: @Sendable () -> Date
    private let offset = Lock<TimeInterval>(0)

    init(_ base: @escaping @Sendable () -> Date) {
        self.base = base
    }

    package var now: Date { base() + offset.withLock { $0 } }

    package func move(by seconds: TimeInterval) {
        offset.withLock { $0 += seconds }
    }
}
