import Foundation
import Locks
import Metrics
package import NIOCore
import ServiceLifecycle
import Synchronization
import Wire

/// Ends the process when an event loop or Swift's cooperative pool no longer runs what it is given.
///
/// A process that hangs keeps its port open and is started again by no supervisor; one that ends is. The watchdog has a
/// thread of its own, which gives each of them something to run at every turn. A hang is counted in these turns and not
/// by a clock: while the process or the machine is suspended there are none, so that is no hang. How long each took to
/// run what it was given is the metric `roost_event_loop_delay_seconds`.
package final class Watchdog: Service {
    /// Something that must go on running what it is given.
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

        /// The pool has one queue for each priority; a service's tasks have this one.
        package static let cooperativePool = Subject("cooperative pool") { work in
            Task.detached(priority: .medium) { work() }
        }
    }

    /// How long each of them may take to run something.
    package static let standardLimit = Duration.seconds(10)
    /// Turns within the limit: four a second, so that the metric shows delays that last shorter than a scrape.
    private static let intervals = 40

    private final class Watched: Sendable {
        let subject: Subject
        let delay: Metrics.Timer
        let isWaiting = Atomic<Bool>(false)
        /// The thread's alone.
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

    /// - Parameters:
    ///   - name: of the process, in what is logged.
    ///   - subjects: what must go on running what it is given.
    ///   - limit: how long a subject may take, in whole milliseconds.
    ///   - stalled: is called with the name of a subject that took longer; ends the process unless told otherwise.
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

    /// Watches until the process is told to stop: from then on its supervisor's limit counts.
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
        // Event loops are shut down after this, and take nothing more.
        for await _ in ended {}
    }

    private func watch() {
        while stop.wait(timeout: .now() + pause) == .timedOut {
            for one in watched {
                guard one.isWaiting.load(ordering: .acquiring) else {
                    one.missedIntervals.withLock { $0 = 0 }
                    one.submit()
                    continue
                }
                let intervals = one.missedIntervals.withLock { intervals in
                    intervals += 1
                    return intervals
                }
                if intervals == Self.intervals { stalled(one.subject.name) }
            }
        }
    }

    /// Says what has stalled, straight to standard error since nothing else may still run, and aborts.
    private static func end(_ process: String, _ subject: String, _ limit: Duration) {
        let seconds = limit / .seconds(1)
        var line = #"{"time":"\#(Timestamp.string(from: Date()))","level":"critical","service":"\#(process)""#
        line += #","message":"stalled; ending the process","subject":"\#(subject)","seconds":"\#(seconds)"}"# + "\n"
        _ = line.withUTF8 { write(STDERR_FILENO, $0.baseAddress, $0.count) }
        abort()
    }
}
