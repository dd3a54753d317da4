import Foundation
import Synchronization

/// A clock that only the test advances.
final class TestClock: Sendable {
    private let time: Mutex<Date>

    init(_ time: Date = Date(timeIntervalSince1970: 1_800_000_000)) {
        self.time = Mutex(time)
    }

    var now: Date { time.withLock { $0 } }

    func advance(minutes: Double) {
        time.withLock { $0 += minutes * 60 }
    }
}
