import EventBus
import Logging
import Synchronization
import TestSupport

let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

/// All that a subscriber has heard until now.
final class Hearing: Sendable {
    private let heard = Mutex<[EventBusEvent]>([])
    private let listening = Mutex<Task<Void, Never>?>(nil)

    init(_ bus: any EventBus, _ topics: [String] = ["news"]) {
        let task = bus.subscribe(to: topics) { [weak self] event in self?.heard.withLock { $0.append(event) } }
        listening.withLock { $0 = task }
    }

    deinit {
        listening.withLock { $0?.cancel() }
    }

    var events: [EventBusEvent] { heard.withLock { $0 } }
    var texts: [String] { events.compactMap { if case .message(_, let text) = $0 { text } else { nil } } }
    var misses: Int { events.count { $0 == .missed } }

    /// Until it is listened, or is listened again.
    func untilMissed(_ times: Int = 1) async throws { try await eventually { self.misses >= times } }
}
