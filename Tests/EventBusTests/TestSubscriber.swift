import EventBus
import Logging
import Synchronization
import TestSupport

let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

/// Collects everything that a subscriber receives.
final class TestSubscriber: Sendable {
    private let received = Mutex<[EventBusEvent]>([])
    private let listening = Mutex<Task<Void, Never>?>(nil)

    init(_ bus: any EventBus, _ topics: [String] = ["news"]) {
        let task = bus.subscribe(to: topics) { [weak self] event in self?.received.withLock { $0.append(event) } }
        listening.withLock { $0 = task }
    }

    deinit {
        listening.withLock { $0?.cancel() }
    }

    var events: [EventBusEvent] { received.withLock { $0 } }
    var texts: [String] { events.compactMap { if case .message(_, let text) = $0 { text } else { nil } } }
    var misses: Int { events.count { $0 == .missed } }

    /// Waits until the subscription has begun, or has begun again, so many times.
    func untilMissed(_ times: Int = 1) async throws { try await eventually { self.misses >= times } }
}

/// Collects log messages without their metadata.
final class Log: Sendable {
    private let lines = Mutex<[String]>([])

    var logger: Logger { Logger(label: "test") { _ in Handler(log: self) } }

    /// Waits until this message has been logged.
    func until(_ line: String) async throws {
        try await eventually("logged: \(line)") { lines.withLock { $0.contains(line) } }
    }

    private struct Handler: LogHandler {
        let log: Log
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            log.lines.withLock { $0.append("\(event.message)") }
        }
    }
}
