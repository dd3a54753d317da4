import Foundation
import PushAPI
import Wire

/// The decisions about a batch: rows for the queue, the log and the table `held`.
struct FanOutResult: Sendable {
    struct QueueRow: Sendable {
        let user: User.ID
        let notification: Int
        let device: TargetDevice
        let sound: String?
        /// The change of the number on the icon, and the number after it.
        let badge: NotificationBadge?
        var number: Int64?
        let cooldownBroadcaster: String?
    }

    struct LogRow: Sendable {
        let user: User.ID
        let notification: Int
        let outcome: NotificationRecord.Outcome
        var reason: String?
        var heldUntil: Date?
        var device: TargetDevice?
    }

    struct HeldRow: Sendable {
        let candidate: Candidate
        let until: Date
    }

    struct Counts: Hashable, Sendable {
        var people = 0
        var withheld = 0
        var held = 0
        var devices = 0
        var failed = 0
    }

    private(set) var queue: [QueueRow] = []
    private(set) var log: [LogRow] = []
    private(set) var held: [HeldRow] = []
    private(set) var counts: [Counts]

    private struct Collapse: Hashable {
        let device: Int64
        let key: String
    }

    private struct HoldKey: Hashable {
        let user: User.ID
        let about: String
    }

    init(
        _ batch: Batch,
        recipientSettings: [RecipientSettings],
        devices: [User.ID: [TargetDevice]],
        rules: Rules,
        now: Date
    ) {
        counts = Array(repeating: Counts(), count: batch.notifications.count)
        var clock = QuietHoursClock(now: now)
        var replaced: Set<Int> = []
        var replacedHeld: Set<Int> = []
        var waiting: [Collapse: Int] = [:]
        var heldIndexes: [HoldKey: Int] = [:]
        for (candidate, person) in zip(batch.candidates, recipientSettings) {
            let notification = batch.notifications[candidate.notification]
            // A browser shows a generic alert for each push message without text.
            let own = (devices[candidate.user] ?? []).filter { !notification.isSilentChange || $0.platform != "web" }
            let targets = own.filter(candidate.includes)
            // Conversations excludes devices with an open socket; other senders exclude devices for other reasons.
            let isConnected =
                notification.kind == .message && targets.isEmpty && !own.isEmpty && candidate.onlyDevices == nil
            if candidate.heldUntil == nil {
                counts[candidate.notification].people += 1
            } else {
                counts[candidate.notification].held -= 1
            }
            switch rules.decide(
                notification,
                for: person,
                hasDevice: !targets.isEmpty,
                isConnected: isConnected,
                &clock
            ) {
            case .send:
                counts[candidate.notification].devices += targets.count
                for device in targets {
                    if let key = notification.collapseKey {
                        let collapse = Collapse(device: device.key, key: key)
                        if let earlier = waiting.updateValue(queue.count, forKey: collapse) { replaced.insert(earlier) }
                    }
                    queue.append(
                        QueueRow(
                            user: candidate.user,
                            notification: candidate.notification,
                            device: device,
                            sound: rules.sound(of: notification, for: person),
                            badge: candidate.badge ?? notification.badge,
                            cooldownBroadcaster: person.favourite?.cooldown == true ? notification.broadcaster : nil
                        )
                    )
                }
            case .hold(let end):
                counts[candidate.notification].held += 1
                let holdKey = HoldKey(user: candidate.user, about: notification.holdKey)
                if let earlier = heldIndexes.updateValue(held.count, forKey: holdKey) { replacedHeld.insert(earlier) }
                held.append(HeldRow(candidate: candidate, until: end))
                if candidate.heldUntil != end {
                    log.append(LogRow(candidate, .held, reason: Rules.quietReason, heldUntil: end))
                }
            case .withhold(let reason):
                counts[candidate.notification].withheld += 1
                log.append(LogRow(candidate, .withheld, reason: reason.rawValue))
            case .expired:
                counts[candidate.notification].withheld += 1
                log.append(LogRow(candidate, .expired, reason: candidate.heldUntil.map { _ in Rules.quietReason }))
            case .cancelled:
                counts[candidate.notification].withheld += 1
                log.append(LogRow(candidate, .cancelled))
            }
        }
        drop(replaced, replacedHeldRows: replacedHeld)
    }

    /// Removes the rows that a later notification of the same batch replaced.
    private mutating func drop(_ replaced: Set<Int>, replacedHeldRows: Set<Int>) {
        for index in replaced.sorted() {
            let row = queue[index]
            counts[row.notification].failed += 1
            log.append(
                LogRow(user: row.user, notification: row.notification, outcome: .replaced, device: row.device)
            )
        }
        for index in replacedHeldRows.sorted() {
            let candidate = held[index].candidate
            counts[candidate.notification].held -= 1
            counts[candidate.notification].withheld += 1
            log.append(LogRow(candidate, .replaced, reason: Rules.quietReason))
        }
        if !replaced.isEmpty {
            queue = queue.enumerated().filter { !replaced.contains($0.offset) }.map(\.element)
        }
        if !replacedHeldRows.isEmpty {
            held = held.enumerated().filter { !replacedHeldRows.contains($0.offset) }.map(\.element)
        }
    }

    /// Assigns the icon number of each queued notification.
    ///
    /// - Parameter numbers: the current number of each device, by device key.
    /// - Returns: the numbers after the last notification.
    mutating func number(from numbers: [Int64: Int64]) -> [Int64: Int64] {
        var badges = BadgeCounts(numbers)
        for index in queue.indices {
            guard let badge = queue[index].badge else { continue }
            queue[index].number = badges.count(badge, for: queue[index].device.key)
        }
        return badges.numbers
    }

    var devicesWithBadge: [Int64] {
        Set(queue.lazy.filter { $0.badge != nil }.map(\.device.key)).sorted()
    }
}

extension FanOutResult.LogRow {
    init(
        _ candidate: Candidate,
        _ outcome: NotificationRecord.Outcome,
        reason: String? = nil,
        heldUntil: Date? = nil
    ) {
        self.init(
            user: candidate.user,
            notification: candidate.notification,
            outcome: outcome,
            reason: reason,
            heldUntil: heldUntil
        )
    }
}

extension Candidate {
    func includes(_ device: TargetDevice) -> Bool {
        if let onlyDevices { return onlyDevices.contains(device.key) }
        guard !exceptDevices.isEmpty else { return true }
        return !exceptDevices.contains { id in
            id.isExactly(device.id) || device.session.map { id.isExactly($0) } == true
        }
    }
}
