/// The pace at which a stream is read: what arrives faster waits in the sender's socket.
///
/// It bounds the processor time and the rows that one account's stream costs, whatever its instance sends.
struct StreamRateLimit {
    /// Bytes a second, and how many may arrive at once.
    private static let rate = 65_536.0
    private static let burst = 1_048_576.0
    /// What an event costs beyond its bytes: sixteen a second are read of the smallest.
    private static let event = 4_096.0

    private var room = burst
    private var last: ContinuousClock.Instant?

    /// Notes what has arrived, and returns how long to wait before more is read.
    mutating func spend(bytes: Int, events: Int, at now: ContinuousClock.Instant) -> Duration {
        if let last { room = min(Self.burst, room + (now - last) / .seconds(1) * Self.rate) }
        last = now
        room -= Double(bytes) + Double(events) * Self.event
        return room < 0 ? .seconds(-room / Self.rate) : .zero
    }
}
