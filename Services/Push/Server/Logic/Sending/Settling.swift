import Foundation
import Postgres
import PushAPI

/// Writes down what came of a batch, all of it in one transaction.
struct Settling: Sendable {
    let database: PostgresPool
    let random: @Sendable () -> Double

    /// Returns the lanes in which nothing is sent from now on.
    func write(_ batch: [Settlement], at now: Date) async throws -> [(lane: Lane, circuit: Circuit)] {
        let sorted = Sorted(batch)
        // Drawn once: a transaction may be run again, and must do the same.
        let jitter = random()
        return try await database.transaction { db in
            try await BatchPlans.set(in: db)
            let devices = AnsweredDeviceStore(db: db)
            try await devices.remove(sorted.removed)
            try await devices.disable(sorted.disabled)
            try await devices.move(sorted.moved)
            let store = SettlementStore(db: db)
            let (sent, failed) = try await store.end(sorted.ended, at: now)
            try await store.put(back: sorted.returned)
            try await store.note(accepted: sorted.accepted, at: now)
            let opened = try await note(sorted.words, jitter: jitter, at: now, on: db)
            try await NotificationStore(db: db).count(sent: sent, failed: failed)
            return opened
        }
    }

    private func note(
        _ words: [Lane: Circuit.Words],
        jitter: Double,
        at now: Date,
        on db: PostgresTransaction
    ) async throws -> [(lane: Lane, circuit: Circuit)] {
        guard !words.isEmpty else { return [] }
        let store = CircuitStore(db: db)
        let known = try await store.lock(Array(words.keys))
        let changed = words.compactMap { lane, words -> (lane: Lane, circuit: Circuit)? in
            let before = known[lane] ?? Circuit()
            let after = before.after(words, at: now, jitter: jitter)
            return after == before ? nil : (lane, after)
        }
        try await store.save(changed)
        return changed.filter { $0.circuit.isOpen && known[$0.lane]?.isOpen != true }
    }

    /// A batch by what is to be written.
    private struct Sorted: Sendable {
        var ended: [SettlementStore<PostgresTransaction>.Ended] = []
        var returned: [SettlementStore<PostgresTransaction>.Returned] = []
        var accepted: [Claimed] = []
        var removed: [(device: Claimed.Device, registeredBy: Date)] = []
        var disabled: [(device: Claimed.Device, reason: String)] = []
        var moved: [(device: Claimed.Device, platform: DevicePlatform)] = []
        var words: [Lane: Circuit.Words] = [:]

        init(_ batch: [Settlement]) {
            for settlement in batch {
                add(settlement.verdict.fate, of: settlement.claimed)
                if let device = settlement.claimed.device { add(settlement.verdict.device, to: device) }
                if let word = settlement.verdict.word { add(word, settlement) }
            }
            // In one order everywhere, so that two instances never wait for each other.
            removed.sort { $0.device.key < $1.device.key }
            disabled.sort { $0.device.key < $1.device.key }
            moved.sort { $0.device.key < $1.device.key }
        }

        private mutating func add(_ fate: Verdict.Fate, of claimed: Claimed) {
            switch fate {
            case .ends(let outcome, let reason, let receipt):
                if outcome == .sent { accepted.append(claimed) }
                ended.append(
                    .init(
                        claimed: claimed,
                        outcome: outcome,
                        reason: reason?.storable,
                        receipt: receipt?.storable,
                        isFailure: false
                    )
                )
            case .fails(let reason):
                ended.append(
                    .init(claimed: claimed, outcome: .failed, reason: reason?.storable, receipt: nil, isFailure: true)
                )
            case .returns(let due, let reason, let isCounted, let otherEnvironment):
                returned.append(
                    .init(
                        claimed: claimed,
                        due: due,
                        reason: reason?.storable,
                        isCounted: isCounted,
                        otherEnvironment: otherEnvironment
                    )
                )
            }
        }

        private mutating func add(_ change: Verdict.DeviceChange?, to device: Claimed.Device) {
            switch change {
            case nil: break
            case .remove(let date): removed.append((device, date))
            case .disable(let reason): disabled.append((device, reason))
            case .move(let platform): moved.append((device, platform))
            }
        }

        private mutating func add(_ word: Verdict.Word, _ settlement: Settlement) {
            var words = words[settlement.claimed.lane] ?? Circuit.Words()
            switch word {
            case .answered:
                words.answered += 1
            case .busy(let retryAfter):
                words.busy += 1
                words.retryAfter = [words.retryAfter, retryAfter].compactMap(\.self).max()
                words.reason = settlement.verdict.fate.reason?.storable
            case .misconfigured:
                words.isMisconfigured = true
                words.reason = settlement.verdict.fate.reason?.storable
            }
            self.words[settlement.claimed.lane] = words
        }
    }
}

extension Verdict.Fate {
    fileprivate var reason: String? {
        switch self {
        case .ends(_, let reason, _), .fails(let reason), .returns(_, let reason, _, _): reason
        }
    }
}

extension String {
    /// What a push service said, as a column takes it: of a bounded length and without NUL.
    fileprivate var storable: String { String(unicodeScalars.filter { $0 != "\0" }.prefix(200).map(Character.init)) }
}
