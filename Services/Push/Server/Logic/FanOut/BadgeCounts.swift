import PushAPI

/// Computes the icon number of each notification in a batch, in order.
struct BadgeCounts {
    private(set) var numbers: [Int64: Int64]

    init(_ numbers: [Int64: Int64]) { self.numbers = numbers }

    /// Returns the number after one more notification; nil for a removed device.
    mutating func count(_ badge: NotificationBadge, for device: Int64) -> Int64? {
        guard let number = numbers[device] else { return nil }
        let next =
            switch badge {
            case .increment: min(number + 1, NotificationBadge.range.upperBound)
            case .number(let given): given
            }
        numbers[device] = next
        return next
    }
}
