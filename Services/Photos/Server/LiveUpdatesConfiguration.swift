import Configuration
import ServiceHost

struct LiveUpdatesConfiguration: Sendable {
    /// `STREAM_RETENTION_SECONDS` (600): how long a client may resume a stream with `Last-Event-ID`.
    var retention = 600.0
    /// `STREAM_HEARTBEAT` (15): seconds without an event after which a stream sends a heartbeat.
    var heartbeat = Duration.seconds(15)
    /// `STREAM_WRITE_TIMEOUT` (30): seconds that a client may leave sent data unread before its stream is closed.
    var writeTimeout = Duration.seconds(30)
    /// `STREAMS_MAX` (2,000): open streams of an instance; one more gets 503.
    var maximumStreams = 2_000
    /// `STREAMS_MAX_USER` (10): open streams of one user at one instance; one more closes the oldest.
    var maximumStreamsOfUser = 10
    /// `ACTIVITY_DIGEST_SECONDS` (60): minimum interval between two notifications about likes of a post, comments on a
    /// post, or followers.
    var digestInterval = 60.0
    /// `ACTIVITY_RETENTION_SECONDS` (86,400): how long undelivered notifications wait for push.
    var activityRetention = 86_400.0
    /// `NATS_URL`: change notifications use NATS instead of PostgreSQL's NOTIFY.
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
