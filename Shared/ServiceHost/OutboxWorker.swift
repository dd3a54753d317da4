import Locks
package import Logging
package import ServiceLifecycle
import Wire

/// The workers of an outbox; writers notify them after the commit and do not wait.
///
/// Several workers and instances share the outbox; each round claims rows that no other worker has claimed. A poll
/// every second finds rows without a notification. While the receiver is unavailable, retries back off from 0.1 s to 5
/// s.
package final class OutboxWorker: Sendable {
    /// The result of one round.
    package enum Outcome: Sendable {
        case nothing, done
        /// The receiver is unavailable.
        case away
    }

    /// Claims rows, delivers them and records the results.
    package typealias Round = @Sendable () async throws -> Outcome

    private let receiver: String
    private let rounds: [Round]
    private let wakeSignals: [(wakeUps: AsyncStream<Void>, notify: AsyncStream<Void>.Continuation)]
    /// The numbers of the idle workers.
    private let idle = Lock<Set<Int>>([])
    private let logger: Logger

    /// Creates the workers.
    ///
    /// - Parameters:
    ///   - receiver: the receiver's name in the log.
    ///   - rounds: the round of each worker.
    ///   - logger: receives failures.
    package init(to receiver: String, _ rounds: [Round], logger: Logger) {
        self.receiver = receiver
        self.rounds = rounds
        self.logger = logger
        wakeSignals = rounds.map { _ in
            let (wakeUps, notify) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
            return (wakeUps: wakeUps, notify: notify)
        }
    }

    /// Wakes one worker, preferably an idle one.
    package func notify() {
        let number = idle.withLock { idle in idle.min().flatMap { idle.remove($0) } }
        wakeSignals[number ?? 0].notify.yield()
    }

    package var maintenance: [any Service] {
        let poll = PeriodicTask("outbox poll for \(receiver)", every: .seconds(1), logger: logger) { [self] in
            for (_, notify) in wakeSignals { notify.yield() }
        }
        let workers = rounds.indices.map { number in
            Worker(receiver: receiver, wakeUps: wakeSignals[number].wakeUps, round: rounds[number], logger: logger) {
                [self] isIdle in
                idle.withLock { idle in _ = isIdle ? idle.insert(number).inserted : idle.remove(number) != nil }
            }
        }
        return [poll] + workers
    }
}

/// A worker that processes rounds and waits for notifications in between.
private struct Worker: Service {
    let receiver: String
    let wakeUps: AsyncStream<Void>
    let round: OutboxWorker.Round
    let logger: Logger
    let rest: @Sendable (_ isIdle: Bool) -> Void

    func run() async {
        var transientErrors = 0
        // A round that has started is completed, so that no claim is left.
        while !Task.isShuttingDownGracefully, !Task.isCancelled {
            var pause: Duration?
            do {
                let outcome = try await round()
                if outcome == .done, transientErrors > 0 {
                    logger.info("outbox receiver available again", metadata: ["receiver": "\(receiver)"])
                }
                if outcome == .away, transientErrors == 0 {
                    logger.warning("outbox receiver unavailable", metadata: ["receiver": "\(receiver)"])
                }
                transientErrors = outcome == .away ? transientErrors + 1 : outcome == .done ? 0 : transientErrors
                if outcome == .done { continue }
                if outcome == .away { pause = .milliseconds(min(100 << min(transientErrors - 1, 6), 5_000)) }
            } catch {
                logger.warning("outbox round failed", metadata: ["receiver": "\(receiver)", "error": "\(error)"])
                pause = .seconds(1)
            }
            await wait(pause)
        }
    }

    /// Waits for `pause`, or for a notification if it is nil; a shutdown ends the wait, and the loop above then stops.
    private func wait(_ pause: Duration?) async {
        await cancelWhenGracefulShutdown {
            guard let pause else {
                rest(true)
                for await _ in wakeUps { break }
                return rest(false)
            }
            // Cancellation ends the sleep; the loop above then stops.
            try? await Task.sleep(for: pause)
        }
    }
}

extension APIError {
    /// Whether the error means that a service is unavailable or overloaded, and not that it rejects the request.
    package var isTransient: Bool { Self.transientErrors.contains(kind) }

    private static let transientErrors: Set<Kind> = [
        .unavailable, .badGateway, .gatewayTimeout, .timedOut, .rateLimited,
    ]
}
