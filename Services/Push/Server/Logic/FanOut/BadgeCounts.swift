import PushAPI

/// Works out which number each notification of a batch puts on which icon, one after another.
struct BadgeCounts {
    private(set) var numbers: [Int64: Int64]

    /// The numbers that the devices have now.
    init(_ numbers: [Int64: Int64]) { self.numbers = numbers }

    /// The number after one more notification for the device; nil for a device that is gone.
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
