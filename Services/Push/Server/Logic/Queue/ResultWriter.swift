import Foundation
import Postgres
import PushAPI

struct ResultWriter: Sendable {
    let database: PostgresPool
    let random: @Sendable () -> Double

    /// Stores the results; returns the queues whose circuit opened.
    func write(_ batch: [SendResult], at now: Date) async throws -> [(queue: ProviderQueue, circuit: Circuit)] {
        let sorted = GroupedResults(batch)
        // Chosen outside the transaction, which may be retried and must then do the same.
        let jitter = random()
        return try await database.transaction { db in
            try await BatchPlans.set(in: db)
            let devices = DeviceFeedbackStore(db: db)
            try await devices.remove(sorted.removed)
            try await devices.disable(sorted.disabled)
            try await devices.move(sorted.moved)
            let store = ResultStore(db: db)
            let (sent, failed) = try await store.finish(sorted.finished, at: now)
            try await store.requeue(entries: sorted.requeued)
            try await store.record(accepted: sorted.accepted, at: now)
            let opened = try await record(sorted.statusCounts, jitter: jitter, at: now, on: db)
            try await NotificationStore(db: db).addCounts(sent: sent, failed: failed)
            return opened
        }
    }

    private func record(
        _ statusCounts: [ProviderQueue: Circuit.StatusCounts],
        jitter: Double,
        at now: Date,
        on db: PostgresTransaction
    ) async throws -> [(queue: ProviderQueue, circuit: Circuit)] {
        guard !statusCounts.isEmpty else { return [] }
        let store = CircuitStore(db: db)
        let circuits = try await store.lock(Array(statusCounts.keys))
        let changed = statusCounts.compactMap { queue, statusCounts -> (queue: ProviderQueue, circuit: Circuit)? in
            let before = circuits[queue] ?? Circuit()
            let after = before.after(statusCounts, at: now, jitter: jitter)
            return after == before ? nil : (queue, after)
        }
        try await store.save(changed)
        return changed.filter { $0.circuit.isOpen && circuits[$0.queue]?.isOpen != true }
    }

    private struct GroupedResults: Sendable {
        var finished: [ResultStore<PostgresTransaction>.Finished] = []
        var requeued: [ResultStore<PostgresTransaction>.Requeued] = []
        var accepted: [ClaimedEntry] = []
        var removed: [(device: ClaimedEntry.Device, registeredBy: Date)] = []
        var disabled: [(device: ClaimedEntry.Device, reason: String)] = []
        var moved: [(device: ClaimedEntry.Device, platform: DevicePlatform)] = []
        var statusCounts: [ProviderQueue: Circuit.StatusCounts] = [:]

        init(_ batch: [SendResult]) {
            for result in batch {
                add(result.decision.queueAction, of: result.claimed)
                if let device = result.claimed.device { add(result.decision.device, to: device) }
                if let providerStatus = result.decision.providerStatus { add(providerStatus, result) }
            }
            // All instances update devices in the same order, which prevents deadlocks.
            removed.sort { $0.device.key < $1.device.key }
            disabled.sort { $0.device.key < $1.device.key }
            moved.sort { $0.device.key < $1.device.key }
        }

        private mutating func add(_ queueAction: SendDecision.QueueAction, of claimed: ClaimedEntry) {
            switch queueAction {
            case .finish(let outcome, let reason, let receipt):
                if outcome == .sent { accepted.append(claimed) }
                finished.append(
                    .init(
                        claimed: claimed,
                        outcome: outcome,
                        reason: reason?.storable,
                        receipt: receipt?.storable,
                        isFailure: false
                    )
                )
            case .fail(let reason):
                finished.append(
                    .init(claimed: claimed, outcome: .failed, reason: reason?.storable, receipt: nil, isFailure: true)
                )
            case .retry(let due, let reason, let countsAttempt, let otherEnvironment):
                requeued.append(
                    .init(
                        claimed: claimed,
                        due: due,
                        reason: reason?.storable,
                        countsAttempt: countsAttempt,
                        otherEnvironment: otherEnvironment
                    )
                )
            }
        }

        private mutating func add(_ change: SendDecision.DeviceChange?, to device: ClaimedEntry.Device) {
            switch change {
            case nil: break
            case .remove(let date): removed.append((device, date))
            case .disable(let reason): disabled.append((device, reason))
            case .move(let platform): moved.append((device, platform))
            }
        }

        private mutating func add(_ providerStatus: SendDecision.ProviderStatus, _ result: SendResult) {
            var statusCounts = statusCounts[result.claimed.queue] ?? Circuit.StatusCounts()
            switch providerStatus {
            case .responded:
                statusCounts.responded += 1
            case .busy(let retryAfter):
                statusCounts.busy += 1
                statusCounts.retryAfter = [statusCounts.retryAfter, retryAfter].compactMap(\.self).max()
                statusCounts.reason = result.decision.queueAction.reason?.storable
            case .misconfigured:
                statusCounts.isMisconfigured = true
                statusCounts.reason = result.decision.queueAction.reason?.storable
            }
            self.statusCounts[result.claimed.queue] = statusCounts
        }
    }
}

extension SendDecision.QueueAction {
    fileprivate var reason: String? {
        switch self {
        case .finish(_, let reason, _), .fail(let reason), .retry(_, let reason, _, _): reason
        }
    }
}

extension String {
    /// The provider's text without NUL characters, at most 200 scalars, for a column.
    fileprivate var storable: String { String(unicodeScalars.filter { $0 != "\0" }.prefix(200).map(Character.init)) }
}
