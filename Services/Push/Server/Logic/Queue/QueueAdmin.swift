import Foundation
import Postgres
import PushAPI
import Wire

/// The operator's report of the queue, and the handling of failed notifications.
struct QueueAdmin: Sendable {
    private static let batch = 5_000

    let database: PostgresPool
    let wakeSignal: WakeSignal
    let now: @Sendable () -> Date

    func report() async throws -> QueueReport {
        QueueReport(
            queues: try await QueueAdminStore(db: database).queues(),
            undecided: try await FanOutStore(db: database).count(),
            held: try await HeldStore(db: database).count(),
            failures: try await FailureStore(db: database).count()
        )
    }

    func failures(before id: Int64?, limit: Int) async throws -> Page<PushFailure> {
        Page(try await FailureStore(db: database.reads).page(before: id, limit: limit))
    }

    func retry(_ selection: PushFailureSelection) async throws -> PushFailuresChanged {
        let count = try await all(selection) { selection in
            try await FailureStore(db: database).retry(selection, at: now(), limit: Self.batch)
        }
        wakeSignal.wake()
        return PushFailuresChanged(count: count)
    }

    func drop(_ selection: PushFailureSelection) async throws -> PushFailuresChanged {
        PushFailuresChanged(
            count: try await all(selection) { try await FailureStore(db: database).drop($0, limit: Self.batch) }
        )
    }

    private func all(
        _ selection: PushFailureSelection,
        _ change: (PushFailureSelection) async throws -> Int
    ) async throws -> Int {
        let hasFilter = selection.ids != nil || selection.applicationId != nil || selection.reason != nil
        guard hasFilter || selection.all == true else { throw APIError.missing("ids") }
        var (count, last) = (0, Self.batch)
        while last == Self.batch {
            last = try await change(selection)
            count += last
        }
        return count
    }
}
