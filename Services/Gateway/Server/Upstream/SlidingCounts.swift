import NIOCore

/// Two counts over the last ten seconds, in slots of one second.
struct SlidingCounts {
    private struct Slot {
        var second = Int64.min
        var all = 0
        var marked = 0
    }

    private static let seconds = 10

    private var slots = Array(repeating: Slot(), count: Self.seconds)

    /// Counts `all` events, of which `marked` have the observed property.
    mutating func add(_ all: Int, marked: Int = 0, now: NIODeadline) {
        let second = Self.second(now)
        let slotIndex = Int(second) % Self.seconds
        if slots[slotIndex].second != second { slots[slotIndex] = Slot(second: second) }
        slots[slotIndex].all += all
        slots[slotIndex].marked += marked
    }

    func sum(now: NIODeadline) -> (all: Int, marked: Int) {
        let oldest = Self.second(now) - Int64(Self.seconds)
        return slots.reduce(into: (0, 0)) { sum, slot in
            guard slot.second > oldest else { return }
            sum.0 += slot.all
            sum.1 += slot.marked
        }
    }

    private static func second(_ now: NIODeadline) -> Int64 {
        Int64(now.uptimeNanoseconds / 1_000_000_000)
    }
}
