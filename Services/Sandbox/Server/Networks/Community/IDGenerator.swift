import Foundation

/// How a network numbers what is said on it: always more than what was said before.
enum IDGenerator: Sendable {
    /// A time in its upper bits: milliseconds since an epoch of the network's own, shifted.
    case timed(epoch: Int64, shift: Int64)
    /// Microseconds since 1970, shifted by ten bits (AT Protocol's TID).
    case microseconds
    /// One after the other.
    case serial(from: Int64, step: Int64)

    func next(after last: Int64, at time: Date) -> Int64 {
        switch self {
        case .timed(let epoch, let shift):
            max(last + 1, (Int64((time.timeIntervalSince1970 * 1_000).rounded()) - epoch) << shift)
        case .microseconds: max(last + 1, Int64((time.timeIntervalSince1970 * 1_000).rounded()) * 1_000 << 10)
        case .serial(let first, let step): max(last + step, first)
        }
    }
}
