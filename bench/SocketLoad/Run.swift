import Foundation
import NIOCore

/// One load, from its first message until all clients have received all messages.
final class Run: @unchecked Sendable {
    private static let timeout = TimeAmount.seconds(5)

    let load: Load
    let plan: Plan
    private let loop: any EventLoop
    private let sockets: [LoadSocket]
    private let promise: EventLoopPromise<String>
    private let began = NIODeadline.now()
    private let parts: [Substring]
    private let isAcknowledged: Bool
    var latencies = Latencies()
    private var sent = 0
    private var received = 0
    private var answers = 0
    private var isOver = false
    private var isDone = false

    init(load: Load, plan: Plan, loop: any EventLoop, sockets: [LoadSocket]) {
        self.load = load
        self.plan = plan
        self.loop = loop
        self.sockets = sockets
        promise = loop.makePromise(of: String.self)
        parts = plan.send.split(separator: "%", omittingEmptySubsequences: false)
        isAcknowledged = plan.send.contains("#")
    }

    func begin() -> EventLoopFuture<String> {
        guard parts.count == 2, !plan.expect.isEmpty, plan.bytes >= 20 else {
            ClientPool.fail("--send needs one %, --expect a prefix, and --bytes at least 20")
        }
        loop.scheduleTask(in: .seconds(Int64(load.seconds))) { self.end() }
        switch load.pace {
        case .window: fill()
        case .rate(let rate): keepPace(rate)
        }
        return promise.futureResult
    }

    func received(_ count: Int) {
        received += count
        if isOver { finish() } else { fill() }
    }

    func acknowledged() {
        answers += 1
        if isOver { finish() }
    }

    /// Sends half a window at a time, so that several messages are pending together, as with many users.
    private func fill() {
        guard case .window(let window) = load.pace, !isOver else { return }
        let open = sent - received / plan.receivers
        guard open <= window / 2 else { return }
        send(window - open)
    }

    private func keepPace(_ rate: Int) {
        let step = 1_000_000_000 / Int64(rate)
        loop.scheduleRepeatedTask(initialDelay: .zero, delay: .nanoseconds(step)) { task in
            guard !self.isOver else { return task.cancel() }
            let due = Int((NIODeadline.now() - self.began).nanoseconds / step) + 1
            if due > self.sent { self.send(due - self.sent) }
        }
    }

    private func send(_ count: Int) {
        let time = String(NIODeadline.now().uptimeNanoseconds)
        let stamp = "@@" + String(repeating: "0", count: 16 - time.utf8.count) + time
        let filler = stamp + String(repeating: "x", count: plan.bytes - stamp.utf8.count)
        for _ in 0..<count {
            let number = isAcknowledged ? String(sent) : ""
            let head = parts[0].replacingOccurrences(of: "#", with: number)
            sockets[sent % sockets.count].write(head + filler + parts[1])
            sent += 1
        }
        // One flush per client sends all its messages in one write.
        for offset in 0..<min(count, sockets.count) { sockets[(sent - 1 - offset) % sockets.count].flush() }
    }

    private func end() {
        isOver = true
        loop.scheduleTask(in: Self.timeout) {
            if !self.isDone {
                ClientPool.fail(
                    "received \(self.received) of \(self.sent) × \(self.plan.receivers), \(self.answers) acknowledged"
                )
            }
        }
        finish()
    }

    private func finish() {
        guard !isDone, received >= sent * plan.receivers, !isAcknowledged || answers >= sent else { return }
        isDone = true
        guard received == sent * plan.receivers else {
            ClientPool.fail("received \(received) messages, more than were sent")
        }
        let seconds = Double((NIODeadline.now() - began).nanoseconds) / 1e9
        promise.succeed(
            #"{"sent": \#(sent), "received": \#(received), "seconds": \#(seconds), "#
                + #""p50": \#(latencies.milliseconds(0.5)), "p99": \#(latencies.milliseconds(0.99))}"#
        )
    }
}
