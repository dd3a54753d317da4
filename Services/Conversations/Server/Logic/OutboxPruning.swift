import Foundation
import Logging
import Postgres
import ServiceLifecycle

/// Keeps the outbox from growing without end: what is older than its retention is removed, a little at a time.
struct OutboxPruning: Service {
    let database: PostgresPool
    let retention: TimeInterval
    let logger: Logger
    let now: @Sendable () -> Date
    var interval = Duration.seconds(10)

    private static let batch = 10_000

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                await prune()
                // Ended by cancellation alone, which the loop sees.
                try? await ContinuousClock().sleep(for: interval)
            }
        }
    }

    /// Until nothing old is left.
    func prune() async {
        let store = OutboxStore(db: database)
        do {
            var removed = Self.batch
            while removed == Self.batch, !Task.isCancelled {
                removed = try await store.prune(before: now().addingTimeInterval(-retention), limit: Self.batch)
            }
        } catch is CancellationError {
            return
        } catch {
            logger.warning("the outbox was not pruned", metadata: ["error": "\(error)"])
        }
    }
}
