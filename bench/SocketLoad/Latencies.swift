/// A histogram of latencies with buckets of one microsecond.
struct Latencies {
    private var counts = [UInt32](repeating: 0, count: 4_000_000)
    private var total = 0

    mutating func add(_ nanoseconds: UInt64) {
        counts[min(Int(nanoseconds / 1_000), counts.count - 1)] += 1
        total += 1
    }

    func milliseconds(_ share: Double) -> Double {
        let rank = Int((Double(total) * share).rounded(.up))
        var passed = 0
        for (microseconds, count) in counts.enumerated() where count > 0 {
            passed += Int(count)
            if passed >= rank { return Double(microseconds) / 1_000 }
        }
        return 0
    }
}
