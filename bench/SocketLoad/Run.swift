import Foundation
import NIOCore

/// One load, from its first message until all that was said is heard.
final class Run: @unchecked Sendable {
    private static let patience = TimeAmount.seconds(5)

    let load: Load
    let plan: Plan
    private let loop: any EventLoop
    private let mouths: [LoadSocket]
    private let promise: EventLoopPromise<String>
    private let began = NIODeadline.now()
    private let parts: [Substring]
    private let isAcknowledged: Bool
    var latencies = Latencies()
    private var said = 0
    private var heard = 0
    private var answers = 0
    private var isOver = false
    private var isDone = false

    init(load: Load, plan: Plan, loop: any EventLoop, mouths: [LoadSocket]) {
        self.load = load
        self.plan = plan
        self.loop = loop
        self.mouths = mouths
        promise = loop.makePromise(of: String.self)
        parts = plan.say.split(separator: "%", omittingEmptySubsequences: false)
        isAcknowledged = plan.say.contains("#")
    }

    func begin() -> EventLoopFuture<String> {
        guard parts.count == 2, !plan.hear.isEmpty, plan.bytes >= 20 else { Swarm.fail("nothing to say or to hear") }
        loop.scheduleTask(in: .seconds(Int64(load.seconds))) { self.end() }
        switch load.pace {
        case .window: fill()
        case .rate(let rate): keepPace(rate)
        }
        return promise.futureResult
    }

    func heard(_ count: Int) {
        heard += count
        if isOver { finish() } else { fill() }
    }

    func acknowledged() {
        answers += 1
        if isOver { finish() }
    }

    /// Half a window at a time, so that what waits is said together, as many people's messages are.
    private func fill() {
        guard case .window(let window) = load.pace, !isOver else { return }
        let open = said - heard / plan.hearers
        guard open <= window / 2 else { return }
        say(window - open)
    }

    private func keepPace(_ rate: Int) {
        let step = 1_000_000_000 / Int64(rate)
        loop.scheduleRepeatedTask(initialDelay: .zero, delay: .nanoseconds(step)) { task in
            guard !self.isOver else { return task.cancel() }
            let due = Int((NIODeadline.now() - self.began).nanoseconds / step) + 1
            if due > self.said { self.say(due - self.said) }
        }
    }

    private func say(_ count: Int) {
        let time = String(NIODeadline.now().uptimeNanoseconds)
        let stamp = "@@" + String(repeating: "0", count: 16 - time.utf8.count) + time
        let filler = stamp + String(repeating: "x", count: plan.bytes - stamp.utf8.count)
        for _ in 0..<count {
            let number = isAcknowledged ? String(said) : ""
            let head = parts[0].replacingOccurrences(of: "#", with: number)
            mouths[said % mouths.count].write(head + filler + parts[1])
            said += 1
        }
        // What one of them says at this moment is one write.
        for offset in 0..<min(count, mouths.count) { mouths[(said - 1 - offset) % mouths.count].flush() }
    }

    private func end() {
        isOver = true
        loop.scheduleTask(in: Self.patience) {
            if !self.isDone {
                Swarm.fail("heard \(self.heard) of \(self.said) times \(self.plan.hearers), \(self.answers) answers")
            }
        }
        finish()
    }

    private func finish() {
        guard !isDone, heard >= said * plan.hearers, !isAcknowledged || answers >= said else { return }
        isDone = true
        guard heard == said * plan.hearers else { Swarm.fail("heard \(heard), more than was said") }
        let seconds = Double((NIODeadline.now() - began).nanoseconds) / 1e9
        promise.succeed(
            #"{"said": \#(said), "heard": \#(heard), "seconds": \#(seconds), "#
                + #""p50": \#(latencies.milliseconds(0.5)), "p99": \#(latencies.milliseconds(0.99))}"#
        )
    }
}
