import Locks
import NIOCore
import NIOHTTP1
import Wire

/// Sends the webhook deliveries of one network, in the order of the events unless a test changes the plan.
final class WebhookSender: Sendable {
    struct Delivery: Sendable {
        let url: String
        let headers: HTTPHeaders
        let body: ByteBuffer
    }

    /// The delivery plan of a test.
    struct DeliveryPlan: Sendable, Codable {
        /// How often each delivery is sent, 1 to 10.
        var times = 1
        /// Whether deliveries wait in the queue.
        var held = false
        /// Whether the waiting deliveries are sent in reverse order.
        var reversed = false
    }

    /// Changes to the plan; fields that are nil stay as they are.
    struct DeliveryPlanChanges: Decodable {
        var times: Int?
        var held: Bool?
        var reversed: Bool?
    }

    struct QueueStatus: Codable, Sendable {
        let times: Int
        let held: Bool
        let reversed: Bool
        let waiting: Int
        let sent: Int
        let failed: Int
    }

    private struct State {
        var plan = DeliveryPlan()
        var waiting: [Delivery] = []
        var isSending = false
        var sent = 0
        var failed = 0
        var isOver = false
    }

    private static let capacity = 10_000
    private static let maximumAttempts = 3

    private let state = Lock(State())
    private let calls: OutgoingRequests

    init(_ calls: OutgoingRequests) {
        self.calls = calls
    }

    var queueStatus: QueueStatus {
        state.withLock { state in
            let (plan, waiting) = (state.plan, state.waiting.count + (state.isSending ? 1 : 0))
            return QueueStatus(
                times: plan.times,
                held: plan.held,
                reversed: plan.reversed,
                waiting: waiting,
                sent: state.sent,
                failed: state.failed
            )
        }
    }

    /// - Throws: `APIError` unless `times` is 1 to 10.
    func change(_ changes: DeliveryPlanChanges) throws {
        if let times = changes.times, !(1...10 ~= times) { throw APIError.invalid("times", "times must be 1 to 10") }
        state.withLock { state in
            state.plan.times = changes.times ?? state.plan.times
            state.plan.held = changes.held ?? state.plan.held
            state.plan.reversed = changes.reversed ?? state.plan.reversed
        }
        begin()
    }

    func send(_ delivery: Delivery) {
        state.withLock { state in
            for _ in 0..<state.plan.times where state.waiting.count < Self.capacity { state.waiting.append(delivery) }
        }
        begin()
    }

    func stop() {
        state.withLock { state in
            state.isOver = true
            state.waiting = []
        }
    }

    // MARK: Sending

    private func begin() {
        let begins = state.withLock { state in
            guard !state.isSending, !state.plan.held, !state.waiting.isEmpty, !state.isOver else { return false }
            if state.plan.reversed { state.waiting.reverse() }
            state.isSending = true
            return true
        }
        if begins { Task { await sendAll() } }
    }

    private func sendAll() async {
        while let delivery = next() {
            let isDelivered = await isDelivered(delivery)
            state.withLock { state in
                if isDelivered { state.sent += 1 } else { state.failed += 1 }
            }
        }
    }

    private func isDelivered(_ delivery: Delivery) async -> Bool {
        for attempt in 0..<Self.maximumAttempts {
            if await calls.post(delivery) { return true }
            // A cancelled task ends the attempts without waiting.
            try? await Task.sleep(for: .milliseconds(300 << attempt))
        }
        return false
    }

    private func next() -> Delivery? {
        state.withLock { state in
            guard !state.waiting.isEmpty, !state.plan.held, !state.isOver else {
                state.isSending = false
                return nil
            }
            return state.waiting.removeFirst()
        }
    }
}
