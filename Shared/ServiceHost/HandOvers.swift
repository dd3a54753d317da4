import Locks
package import Logging
package import ServiceLifecycle
import Wire

/// Hands on what waits in an outbox, beside those who write it: whoever has written rings, and waits for nothing.
///
/// Several workers, and several instances, share what there is; a round claims what no other has. What nobody rang for is
/// found by looking each second. While nobody is there to take anything, it is tried after 0.1 s, then 0.2 … 5.
package final class HandOvers: Sendable {
    /// What came of one round.
    package enum Outcome: Sendable {
        case nothing, done
        /// Nobody is there to take anything.
        case away
    }

    /// Claims what waits, hands it on, and notes what came of it.
    package typealias Round = @Sendable () async throws -> Outcome

    private let taker: String
    private let rounds: [Round]
    private let rings: [(heard: AsyncStream<Void>, ring: AsyncStream<Void>.Continuation)]
    /// The workers that have nothing to do.
    private let idle = Lock<Set<Int>>([])
    private let logger: Logger

    /// - Parameters:
    ///   - taker: to whom it is handed on, as the log calls it.
    ///   - rounds: one for each worker.
    ///   - logger: hears what goes wrong.
    package init(to taker: String, _ rounds: [Round], logger: Logger) {
        self.taker = taker
        self.rounds = rounds
        self.logger = logger
        rings = rounds.map { _ in
            let (heard, ring) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
            return (heard: heard, ring: ring)
        }
    }

    /// Wakes one worker: one that has nothing to do, where there is one.
    package func ring() {
        let number = idle.withLock { idle in idle.min().flatMap { idle.remove($0) } }
        rings[number ?? 0].ring.yield()
    }

    package var upkeep: [any Service] {
        let look = Periodic("look for what waits for \(taker)", every: .seconds(1), logger: logger) { [self] in
            for (_, ring) in rings { ring.yield() }
        }
        let workers = rounds.indices.map { number in
            Worker(taker: taker, heard: rings[number].heard, round: rounds[number], logger: logger) { [self] isIdle in
                idle.withLock { idle in _ = isIdle ? idle.insert(number).inserted : idle.remove(number) != nil }
            }
        }
        return [look] + workers
    }
}

/// One who hands over what waits, and waits to hear of more.
private struct Worker: Service {
    let taker: String
    let heard: AsyncStream<Void>
    let round: HandOvers.Round
    let logger: Logger
    let rest: @Sendable (_ isIdle: Bool) -> Void

    func run() async {
        var absences = 0
        // A round that has begun is finished, so that no claim is left behind.
        while !Task.isShuttingDownGracefully, !Task.isCancelled {
            var pause: Duration?
            do {
                let outcome = try await round()
                if outcome == .done, absences > 0 { logger.info("\(taker) takes what is handed to it again") }
                if outcome == .away, absences == 0 { logger.warning("\(taker) takes nothing") }
                absences = outcome == .away ? absences + 1 : outcome == .done ? 0 : absences
                if outcome == .done { continue }
                if outcome == .away { pause = .milliseconds(min(100 << min(absences - 1, 6), 5_000)) }
            } catch {
                logger.warning("nothing was handed to \(taker)", metadata: ["error": "\(error)"])
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
                for await _ in heard { break }
                return rest(false)
            }
            // Cancelled in its sleep it is at an end, as the loop sees.
            try? await Task.sleep(for: pause)
        }
    }
}

extension APIError {
    /// Whether it says that a neighbour is not there, or too busy, rather than that it does not want what it was given.
    package var isAbsence: Bool { Self.absences.contains(kind) }

    private static let absences: Set<Kind> = [.unavailable, .badGateway, .gatewayTimeout, .timedOut, .rateLimited]
}
