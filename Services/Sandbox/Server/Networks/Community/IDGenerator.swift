import Foundation

/// A network's scheme for ids, which always increase.
enum IDGenerator: Sendable {
    /// A time in the upper bits: milliseconds since the network's own epoch, shifted.
    case timed(epoch: Int64, shift: Int64)
    /// Microseconds since 1970, shifted by ten bits (TID of the AT Protocol).
    case microseconds
    /// Consecutive numbers with a fixed step.
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
