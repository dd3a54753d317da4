import DequeModule
import Foundation
import Locks

/// The newest notifications that the services accepted, with counts of all notifications and of repetitions.
package final class ReceivedNotifications: Sendable {
    /// The counts since the start or the last ``clear()``.
    package struct Counts: Codable, Sendable {
        package var accepted = 0
        /// Accepted notifications without repetitions.
        package var distinct = 0
        /// Repetitions: the same id for the same device.
        package var duplicates = 0
        /// Rejected requests by service, status and reason, such as `apns 410 Unregistered`.
        package var refused: [String: Int] = [:]
    }

    /// The maximum of stored payload bytes.
    private static let payloadLimit = 64 * 1_024 * 1_024
    private static let reasonLimit = 1_000
    private static let listenerLimit = 256

    private struct State {
        var newest: Deque<ReceivedNotification> = []
        var payloadBytes = 0
        var last = 0
        var counts = Counts()
        var copies = DeliveryCounts()
        var listeners: [UInt64: @Sendable () -> Void] = [:]
        var nextListener: UInt64 = 0
    }

    private let capacity: Int
    private let now: @Sendable () -> Date
    private let state = Lock(State())

    init(capacity: Int, now: @escaping @Sendable () -> Date) {
        self.capacity = capacity
        self.now = now
    }

    // MARK: Arrivals

    func accept(_ arrival: IncomingNotification) {
        let time = now()
        let listeners = state.withLock { state -> [@Sendable () -> Void] in
            let copies = state.copies.count(service: arrival.service, device: arrival.device, id: arrival.id)
            state.counts.accepted += 1
            if copies > 1 { state.counts.duplicates += 1 } else { state.counts.distinct += 1 }
            state.last += 1
            state.newest.append(
                ReceivedNotification(
                    number: state.last,
                    service: arrival.service,
                    environment: arrival.environment,
                    device: arrival.device,
                    id: arrival.id,
                    copies: copies,
                    acceptedAt: time,
                    fields: arrival.fields,
                    payload: arrival.payload
                )
            )
            state.payloadBytes += arrival.payload.count
            while state.newest.count > capacity || state.payloadBytes > Self.payloadLimit {
                state.payloadBytes -= state.newest.removeFirst().payload.count
            }
            return state.listeners.isEmpty ? [] : Array(state.listeners.values)
        }
        for wake in listeners { wake() }
    }

    func reject(_ service: SandboxService, status: Int, reason: String) {
        let key = "\(service.rawValue) \(status) \(reason)"
        state.withLock { state in
            guard state.counts.refused[key] != nil || state.counts.refused.count < Self.reasonLimit else { return }
            state.counts.refused[key, default: 0] += 1
        }
    }

    // MARK: Queries

    package var counts: Counts { state.withLock { $0.counts } }

    package func all() -> [ReceivedNotification] { state.withLock { Array($0.newest) } }

    package func after(_ number: Int, limit: Int) -> [ReceivedNotification] {
        state.withLock { state in
            guard let first = state.newest.first, number < state.last else { return [] }
            return Array(state.newest.dropFirst(max(0, number + 1 - first.number)).prefix(limit))
        }
    }

    package var last: Int { state.withLock { $0.last } }

    /// Removes the stored notifications and resets the counts; the numbering continues.
    package func clear() {
        state.withLock { state in
            state.newest = []
            state.payloadBytes = 0
            state.counts = Counts()
            state.copies = DeliveryCounts()
        }
    }

    /// Waits until `total` notifications have been accepted since the start or the last ``clear()``.
    ///
    /// - Throws: `CancellationError` when the task is cancelled first.
    package func wait(forTotal total: Int) async throws {
        let (changes, changed) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        guard let listener = listen({ changed.yield() }) else { throw CancellationError() }
        defer { stopListening(listener) }
        // Check once after adding the listener, because earlier arrivals did not wake it.
        changed.yield()
        for await _ in changes where counts.accepted >= total { return }
        throw CancellationError()
    }

    // MARK: Listeners

    /// Adds a callback for every arrival, called on any thread, or returns nil when there are already 256.
    func listen(_ wake: @escaping @Sendable () -> Void) -> UInt64? {
        state.withLock { state in
            guard state.listeners.count < Self.listenerLimit else { return nil }
            state.nextListener += 1
            state.listeners[state.nextListener] = wake
            return state.nextListener
        }
    }

    func stopListening(_ listener: UInt64) {
        state.withLock { $0.listeners[listener] = nil }
    }
}

/// Counts how often each notification arrived for each device, in bounded memory.
///
/// There are two generations. A full current generation becomes the previous one, so that at least the last 500,000
/// notifications are counted.
private struct DeliveryCounts {
    private struct Key: Hashable {
        let high: Int
        let low: Int
    }

    private static let capacity = 500_000

    private var current: [Key: Int] = [:]
    private var previous: [Key: Int] = [:]

    mutating func count(service: SandboxService, device: String, id: String) -> Int {
        // 128 bits of hashes replace the texts. No client in tests constructs collisions.
        var hasher = Hasher()
        hasher.combine(service)
        hasher.combine(device)
        hasher.combine(id)
        let high = hasher.finalize()
        hasher = Hasher()
        hasher.combine(id)
        hasher.combine(device)
        let key = Key(high: high, low: hasher.finalize())
        let copies = (current[key] ?? previous[key] ?? 0) + 1
        if current.count >= Self.capacity {
            previous = current
            current = [:]
        }
        current[key] = copies
        return copies
    }
}
