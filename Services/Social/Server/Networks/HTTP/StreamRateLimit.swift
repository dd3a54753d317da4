/// The rate at which a stream is read: data that arrives faster waits in the sender's socket.
///
/// It limits the processor time and the rows that one account's stream costs, whatever its instance sends.
struct StreamRateLimit {
    /// The bytes per second, and the maximum burst in bytes.
    private static let rate = 65_536.0
    private static let burst = 1_048_576.0
    /// The cost of an event in addition to its bytes: 16 of the smallest events are read per second.
    private static let event = 4_096.0

    private var room = burst
    private var last: ContinuousClock.Instant?

    /// Records what has arrived; returns how long to wait before reading more.
    mutating func spend(bytes: Int, events: Int, at now: ContinuousClock.Instant) -> Duration {
        if let last { room = min(Self.burst, room + (now - last) / .seconds(1) * Self.rate) }
        last = now
        room -= Double(bytes) + Double(events) * Self.event
        return room < 0 ? .seconds(-room / Self.rate) : .zero
    }
}
