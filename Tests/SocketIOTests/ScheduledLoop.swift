import Dispatch
import NIOCore

/// An event loop without a thread: a test controls its time and runs its tasks.
///
/// `inEventLoop` is true only while the loop runs a task, so work for another loop is submitted as from another thread.
final class ScheduledLoop: EventLoop, @unchecked Sendable {
    // Unchecked: only one thread uses a loop at a time.

    private struct Timer {
        let number: Int
        let deadline: NIODeadline
        let fire: () -> Void
        let fail: () -> Void
    }

    private(set) var now = NIODeadline.uptimeNanoseconds(1_000_000_000_000)
    private(set) var inEventLoop = false
    private var tasks: [() -> Void] = []
    private var timers: [Timer] = []
    private var lastTimer = 0

    var isIdle: Bool { tasks.isEmpty }

    /// Runs a closure on the loop, as if a channel had called it.
    func enter(_ body: () -> Void) {
        let wasInEventLoop = inEventLoop
        inEventLoop = true
        body()
        inEventLoop = wasInEventLoop
    }

    /// Runs the oldest task.
    func step() {
        guard !tasks.isEmpty else { return }
        let task = tasks.removeFirst()
        enter(task)
    }

    /// Advances the time; the timers that are due become tasks.
    func advance(by time: TimeAmount) {
        now = now + time
        let due = timers.filter { $0.deadline <= now }.sorted { ($0.deadline, $0.number) < ($1.deadline, $1.number) }
        timers.removeAll { $0.deadline <= now }
        tasks += due.map(\.fire)
    }

    /// Fails the timers that are still waiting.
    func finish() {
        let timers = timers
        self.timers = []
        enter { for timer in timers { timer.fail() } }
    }

    // MARK: EventLoop

    func execute(_ task: @escaping @Sendable () -> Void) { tasks.append(task) }

    func submit<T>(_ task: @escaping @Sendable () throws -> T) -> EventLoopFuture<T> {
        let promise = makePromise(of: T.self)
        tasks.append { promise.assumeIsolated().completeWith(Result { try task() }) }
        return promise.futureResult
    }

    func scheduleTask<T>(deadline: NIODeadline, _ task: @escaping @Sendable () throws -> T) -> Scheduled<T> {
        let promise = makePromise(of: T.self)
        lastTimer += 1
        let number = lastTimer
        timers.append(
            Timer(
                number: number,
                deadline: deadline,
                fire: { promise.assumeIsolated().completeWith(Result { try task() }) },
                fail: { promise.fail(EventLoopError.shutdown) }
            )
        )
        return Scheduled(promise: promise) { self.timers.removeAll { $0.number == number } }
    }

    func scheduleTask<T>(in time: TimeAmount, _ task: @escaping @Sendable () throws -> T) -> Scheduled<T> {
        scheduleTask(deadline: now + time, task)
    }

    func shutdownGracefully(queue: DispatchQueue, _ callback: @escaping @Sendable ((any Error)?) -> Void) {
        finish()
        queue.async { callback(nil) }
    }
}
