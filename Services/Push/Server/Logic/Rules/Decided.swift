import Foundation
import PushAPI
import Wire

/// What the rules made of a batch: rows for the queue, for the log and for those whose quiet hours it is.
struct Decided: Sendable {
    struct QueueRow: Sendable {
        let user: User.ID
        let notification: Int
        let device: DeviceFacts
        let sound: String?
        /// What becomes of the number on the icon, and the number it becomes.
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
        var device: DeviceFacts?
    }

    struct HeldRow: Sendable {
        let addressee: Addressee
        let until: Date
    }

    /// What a notification's counts grow by.
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
    /// By the notification's place in the batch.
    private(set) var counts: [Counts]

    private struct Collapse: Hashable {
        let device: Int64
        let key: String
    }

    private struct HeldThing: Hashable {
        let user: User.ID
        let about: String
    }

    /// Decides about all of a batch.
    init(
        _ batch: Batch,
        facts: [PersonFacts],
        devices: [User.ID: [DeviceFacts]],
        rules: Rules,
        now: Date
    ) {
        counts = Array(repeating: Counts(), count: batch.notifications.count)
        var clock = QuietClock(now: now)
        var replaced: Set<Int> = []
        var replacedHeld: Set<Int> = []
        var waiting: [Collapse: Int] = [:]
        var holding: [HeldThing: Int] = [:]
        for (addressee, person) in zip(batch.addressees, facts) {
            let notification = batch.notifications[addressee.notification]
            // A browser shows an alert of its own for each push without text.
            let own = (devices[addressee.user] ?? []).filter { !notification.isSilentChange || $0.platform != "web" }
            let targets = own.filter(addressee.includes)
            // Conversations leaves out the devices with an open socket; other senders leave out devices for other reasons.
            let isConnected =
                notification.kind == .message && targets.isEmpty && !own.isEmpty && addressee.onlyDevices == nil
            if addressee.heldUntil == nil {
                counts[addressee.notification].people += 1
            } else {
                counts[addressee.notification].held -= 1
            }
            switch rules.decide(
                notification,
                for: person,
                hasDevice: !targets.isEmpty,
                isConnected: isConnected,
                &clock
            ) {
            case .send:
                counts[addressee.notification].devices += targets.count
                for device in targets {
                    if let key = notification.collapseKey {
                        let collapse = Collapse(device: device.key, key: key)
                        if let earlier = waiting.updateValue(queue.count, forKey: collapse) { replaced.insert(earlier) }
                    }
                    queue.append(
                        QueueRow(
                            user: addressee.user,
                            notification: addressee.notification,
                            device: device,
                            sound: rules.sound(of: notification, for: person),
                            badge: addressee.badge ?? notification.badge,
                            cooldownBroadcaster: person.favourite?.cooldown == true ? notification.broadcaster : nil
                        )
                    )
                }
            case .hold(let end):
                counts[addressee.notification].held += 1
                let thing = HeldThing(user: addressee.user, about: notification.heldAbout)
                if let earlier = holding.updateValue(held.count, forKey: thing) { replacedHeld.insert(earlier) }
                held.append(HeldRow(addressee: addressee, until: end))
                if addressee.heldUntil != end {
                    log.append(LogRow(addressee, .held, reason: Rules.quietReason, heldUntil: end))
                }
            case .withhold(let reason):
                counts[addressee.notification].withheld += 1
                log.append(LogRow(addressee, .withheld, reason: reason.rawValue))
            case .expired:
                counts[addressee.notification].withheld += 1
                log.append(LogRow(addressee, .expired, reason: addressee.heldUntil.map { _ in Rules.quietReason }))
            case .cancelled:
                counts[addressee.notification].withheld += 1
                log.append(LogRow(addressee, .cancelled))
            }
        }
        drop(replaced, heldOnes: replacedHeld)
    }

    /// What a later one of the same batch took the place of.
    private mutating func drop(_ replaced: Set<Int>, heldOnes: Set<Int>) {
        for place in replaced.sorted() {
            let row = queue[place]
            counts[row.notification].failed += 1
            log.append(
                LogRow(user: row.user, notification: row.notification, outcome: .replaced, device: row.device)
            )
        }
        for place in heldOnes.sorted() {
            let addressee = held[place].addressee
            counts[addressee.notification].held -= 1
            counts[addressee.notification].withheld += 1
            log.append(LogRow(addressee, .replaced, reason: Rules.quietReason))
        }
        if !replaced.isEmpty {
            queue = queue.enumerated().filter { !replaced.contains($0.offset) }.map(\.element)
        }
        if !heldOnes.isEmpty {
            held = held.enumerated().filter { !heldOnes.contains($0.offset) }.map(\.element)
        }
    }

    /// The numbers that the icons of these devices have now go up as the notifications say; returns the last ones.
    mutating func number(from numbers: [Int64: Int64]) -> [Int64: Int64] {
        var badges = BadgeCounts(numbers)
        for place in queue.indices {
            guard let badge = queue[place].badge else { continue }
            queue[place].number = badges.count(badge, for: queue[place].device.key)
        }
        return badges.numbers
    }

    /// Devices whose icons' numbers change.
    var numberedDevices: [Int64] {
        Set(queue.lazy.filter { $0.badge != nil }.map(\.device.key)).sorted()
    }
}

extension Decided.LogRow {
    init(
        _ addressee: Addressee,
        _ outcome: NotificationRecord.Outcome,
        reason: String? = nil,
        heldUntil: Date? = nil
    ) {
        self.init(
            user: addressee.user,
            notification: addressee.notification,
            outcome: outcome,
            reason: reason,
            heldUntil: heldUntil
        )
    }
}

extension Addressee {
    /// Whether it is for this device too.
    func includes(_ device: DeviceFacts) -> Bool {
        if let onlyDevices { return onlyDevices.contains(device.key) }
        guard !exceptDevices.isEmpty else { return true }
        return !exceptDevices.contains { id in
            id.isExactly(device.id) || device.session.map { id.isExactly($0) } == true
        }
    }
}
