import Configuration
import ServiceHost

/// The settings that only conversations has.
struct ConversationsConfiguration: Sendable {
    /// `LANES` (2): connections on which messages are written, each a batch at a time.
    var lanes = 2
    /// `LANE_QUEUE` (4,096): how many writes wait for a lane before it answers 503.
    var laneQueue = 4_096
    /// `LANE_QUEUE_BYTES` (33,554,432): how much text waits for a lane.
    var laneQueueBytes = 33_554_432
    /// `LANE_TIMEOUT_MS` (1,000): how long a batch may wait for a lock or run before it is cut in halves.
    var laneTimeout = Duration.milliseconds(1_000)
    /// `SEND_DEADLINE_MS` (5,000): how long a write is tried again while the database is away, before 503.
    var sendDeadline = Duration.milliseconds(5_000)
    /// `MEMBERS_MAX` (10,000): how many members a conversation may have.
    var maximumMembers = 10_000
    /// `OUTBOX_RETENTION_SECONDS` (600): how long what is to be handed on is kept.
    var outboxRetention = 600.0
    /// `SEARCH_WALK_SECONDS` (300): from one look at all conversations, for what is not indexed, to the next.
    var searchWalk = 300.0

    init() {}

    init(_ configuration: ConfigReader) throws {
        lanes = try configuration.number("LANES", default: lanes, in: 1...64)
        laneQueue = try configuration.number("LANE_QUEUE", default: laneQueue, in: 1...1_000_000)
        laneQueueBytes = try configuration.number("LANE_QUEUE_BYTES", default: laneQueueBytes, in: 131_072...(1 << 40))
        laneTimeout = .milliseconds(try configuration.number("LANE_TIMEOUT_MS", default: 1_000, in: 10...60_000))
        sendDeadline = .milliseconds(try configuration.number("SEND_DEADLINE_MS", default: 5_000, in: 10...60_000))
        maximumMembers = try configuration.number("MEMBERS_MAX", default: maximumMembers, in: 1...1_000_000)
        outboxRetention = Double(
            try configuration.number("OUTBOX_RETENTION_SECONDS", default: 600, in: 1...31_536_000)
        )
        searchWalk = Double(try configuration.number("SEARCH_WALK_SECONDS", default: 300, in: 1...86_400))
    }
}
