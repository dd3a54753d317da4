import Configuration
import ServiceHost

/// The settings of what tells others what happens.
struct LiveUpdatesConfiguration: Sendable {
    /// `STREAM_RETENTION_SECONDS` (600): how long a stream can be gone on from.
    var retention = 600.0
    /// `STREAM_HEARTBEAT` (15): seconds of silence after which a stream says that it is still there.
    var heartbeat = Duration.seconds(15)
    /// `STREAM_WRITE_TIMEOUT` (30): seconds that a reader may leave what was said unread, before he is cut off.
    var writeTimeout = Duration.seconds(30)
    /// `STREAMS_MAX` (2,000): open streams of an instance, before 503.
    var maximumStreams = 2_000
    /// `STREAMS_MAX_USER` (10): of one user at one instance; the first one goes for one more.
    var maximumStreamsOfUser = 10
    /// `ACTIVITY_DIGEST_SECONDS` (60): from one notification of likes of a post, or its comments, or followers, to the next.
    var digestInterval = 60.0
    /// `ACTIVITY_RETENTION_SECONDS` (86,400): how long notifications wait for push.
    var activityRetention = 86_400.0
    /// `NATS_URL`: the doorbell goes over NATS rather than over PostgreSQL's notifications.
    var natsURL: String?

    init() {}

    init(_ configuration: ConfigReader) throws {
        retention = Double(try configuration.number("STREAM_RETENTION_SECONDS", default: 600, in: 1...86_400))
        heartbeat = .seconds(try configuration.number("STREAM_HEARTBEAT", default: 15, in: 1...60))
        writeTimeout = .seconds(try configuration.number("STREAM_WRITE_TIMEOUT", default: 30, in: 1...3_600))
        maximumStreams = try configuration.number("STREAMS_MAX", default: maximumStreams, in: 1...1_000_000)
        maximumStreamsOfUser = try configuration.number(
            "STREAMS_MAX_USER",
            default: maximumStreamsOfUser,
            in: 1...100_000
        )
        digestInterval = Double(try configuration.number("ACTIVITY_DIGEST_SECONDS", default: 60, in: 0...86_400))
        activityRetention = Double(
            try configuration.number("ACTIVITY_RETENTION_SECONDS", default: 86_400, in: 1...31_536_000)
        )
        natsURL = configuration.text("NATS_URL")
    }
}
