import Locks
package import Logging
package import ServiceLifecycle
import Wire

/// Hands on what waits in an outbox, beside those who write it: whoever has written rings, and waits for nothing.
///
/// Several workers, and several instances, share what there is; a round claims what no other has. What nobody rang for is
/// found by looking each second. While nobody is there to take anything, it is tried after 0.1 s, then 0.2 … 5.
package final class OutboxWorker: Sendable {
    /// What came of one round.
    package enum Outcome: Sendable {
        case nothing, done
        /// Nobody is there to take anything.
        case away
    }

    /// Claims what waits, hands it on, and notes what came of it.
    package typealias Round = @Sendable () async throws -> Outcome

    private let receiver: String
    private let rounds: [Round]
    private let wakeSignals: [(wakeUps: AsyncStream<Void>, notify: AsyncStream<Void>.Continuation)]
    /// The workers that have nothing to do.
    private let idle = Lock<Set<Int>>([])
    private let logger: Logger

    /// - Parameters:
    ///   - taker: to whom it is handed on, as the log calls it.
    ///   - rounds: one for each worker.
    ///   - logger: hears what goes wrong.
    package init(to receiver: String, _ rounds: [Round], logger: Logger) {
        self.receiver = receiver
        self.rounds = rounds
        self.logger = logger
        wakeSignals = rounds.map { _ in
            let (wakeUps, notify) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
            return (wakeUps: wakeUps, notify: notify)
        }
    }

    /// Wakes one worker: one that has nothing to do, where there is one.
    package func notify() {
        let number = idle.withLock { idle in idle.min().flatMap { idle.remove($0) } }
        wakeSignals[number ?? 0].notify.yield()
    }

    package var maintenance: [any Service] {
        let poll = PeriodicTask("look for what waits for \(receiver)", every: .seconds(1), logger: logger) { [self] in
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

/// One who hands over what waits, and waits to hear of more.
private struct Worker: Service {
    let receiver: String
    let wakeUps: AsyncStream<Void>
    let round: OutboxWorker.Round
    let logger: Logger
    let rest: @Sendable (_ isIdle: Bool) -> Void

    func run() async {
        var transientErrors = 0
        // A round that has begun is finished, so that no claim is left behind.
        while !Task.isShuttingDownGracefully, !Task.isCancelled {
            var pause: Duration?
            do {
                let outcome = try await round()
                if outcome == .done, transientErrors > 0 { logger.info("\(receiver) takes what is handed to it again") }
                if outcome == .away, transientErrors == 0 { logger.warning("\(receiver) takes nothing") }
                transientErrors = outcome == .away ? transientErrors + 1 : outcome == .done ? 0 : transientErrors
                if outcome == .done { continue }
                if outcome == .away { pause = .milliseconds(min(100 << min(transientErrors - 1, 6), 5_000)) }
            } catch {
                logger.warning("nothing was handed to \(receiver)", metadata: ["error": "\(error)"])
                pause = .seconds(1)
            }
            await wait(pause)
        }
    }

    /// For so long, or until there may be more to do; cut short at shutdown, which the loop above sees.
    private func wait(_ pause: Duration?) async {
        await cancelWhenGracefulShutdown {
            guard let pause else {
                rest(true)
                for await _ in wakeUps { break }
                return rest(false)
            }
            // Cancelled in its sleep it is at an end, as the loop sees.
            try? await Task.sleep(for: pause)
        }
    }
}

extension APIError {
    /// Whether it says that a neighbour is not there, or too busy, rather than that it does not want what it was given.
    package var isTransient: Bool { Self.transientErrors.contains(kind) }

    private static let transientErrors: Set<Kind> = [
        .unavailable, .badGateway, .gatewayTimeout, .timedOut, .rateLimited,
    ]
}
