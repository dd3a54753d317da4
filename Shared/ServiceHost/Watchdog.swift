import Foundation
import Locks
import Metrics
package import NIOCore
import ServiceLifecycle
import Synchronization
import Wire

/// A watchdog that ends the process when an event loop or Swift's cooperative pool is blocked.
///
/// A blocked process keeps its port open, so no supervisor restarts it; an ended process is restarted. The watchdog's
/// own thread submits work to each subject in intervals. A stall is counted in these intervals and not with a clock,
/// because a suspended process or machine has none.
///
/// The metric `roost_event_loop_delay_seconds` shows how long each subject took to run the submitted work.
package final class Watchdog: Service {
    /// An executor that must keep running the work that it receives.
    package struct Subject: Sendable {
        let name: String
        let submit: @Sendable (@escaping @Sendable () -> Void) -> Void

        package init(_ name: String, submit: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) {
            self.name = name
            self.submit = submit
        }

        package static func loops(_ name: String, of group: any EventLoopGroup) -> [Subject] {
            group.makeIterator().enumerated().map { number, loop in
                Subject("\(name) \(number)") { loop.execute($0) }
            }
        }

        /// Swift's cooperative pool, with the priority of services' tasks; the pool has one queue for each priority.
        package static let cooperativePool = Subject("cooperative pool") { work in
            Task.detached(priority: .medium) { work() }
        }
    }

    /// The default limit for the time until a subject runs submitted work.
    package static let standardLimit = Duration.seconds(10)
    /// The number of intervals within the limit: four a second, so that the metric shows delays shorter than a scrape.
    private static let intervals = 40

    private final class Watched: Sendable {
        let subject: Subject
        let delay: Metrics.Timer
        let isWaiting = Atomic<Bool>(false)
        /// Used only by the watchdog's thread.
        let missedIntervals = Lock(0)

        init(_ subject: Subject) {
            self.subject = subject
            delay = Metrics.Timer(label: "roost_event_loop_delay_seconds", dimensions: [("loop", subject.name)])
        }

        func submit() {
            let start = DispatchTime.now().uptimeNanoseconds
            isWaiting.store(true, ordering: .releasing)
            subject.submit {
                self.delay.recordNanoseconds(Int64(clamping: DispatchTime.now().uptimeNanoseconds - start))
                self.isWaiting.store(false, ordering: .releasing)
            }
        }
    }

    private let watched: [Watched]
    private let pause: Double
    private let limit: Duration
    private let stalled: @Sendable (String) -> Void
    private let stop = DispatchSemaphore(value: 0)

    /// Creates a watchdog.
    ///
    /// - Parameters:
    ///   - name: the process's name in the log.
    ///   - subjects: the executors to watch.
    ///   - limit: the limit for a subject, in whole milliseconds.
    ///   - stalled: called with the name of a subject that exceeded the limit; ends the process by default.
    package init(
        _ name: String,
        watching subjects: [Subject],
        limit: Duration = standardLimit,
        stalled: (@Sendable (String) -> Void)? = nil
    ) {
        watched = subjects.map(Watched.init)
        self.limit = limit
        pause = limit / .seconds(Self.intervals)
        self.stalled = stalled ?? { Self.end(name, $0, limit) }
    }

    /// Watches until the process is asked to stop; then its supervisor's limit applies.
    package func run() async throws {
        let (ended, end) = AsyncStream.makeStream(of: Never.self, bufferingPolicy: .bufferingNewest(1))
        let thread = Thread {
            self.watch()
            end.finish()
        }
        thread.name = "watchdog"
        thread.start()
        // Also returns, by throwing, when the task is cancelled.
        try? await gracefulShutdown()
        stop.signal()
        // Event loops are shut down after this and accept no more work.
        for await _ in ended {}
    }

    private func watch() {
        while stop.wait(timeout: .now() + pause) == .timedOut {
            for item in watched {
                guard item.isWaiting.load(ordering: .acquiring) else {
                    item.missedIntervals.withLock { $0 = 0 }
                    item.submit()
                    continue
                }
                let intervals = item.missedIntervals.withLock { intervals in
                    intervals += 1
                    return intervals
                }
                if intervals == Self.intervals { stalled(item.subject.name) }
            }
        }
    }

    /// Writes the subject's name directly to standard error, because other threads may be blocked, and aborts.
    private static func end(_ process: String, _ subject: String, _ limit: Duration) {
        let seconds = limit / .seconds(1)
        var line = #"{"time":"\#(Timestamp.string(from: Date()))","level":"critical","service":"\#(process)""#
        line += #","message":"stalled; ending the process","subject":"\#(subject)","seconds":"\#(seconds)"}"# + "\n"
        _ = line.withUTF8 { write(STDERR_FILENO, $0.baseAddress, $0.count) }
        abort()
    }
}
