import Configuration
import ServiceHost

struct LiveUpdatesConfiguration: Sendable {
    /// Seconds for which a client may resume a stream with `Last-Event-ID`.
    ///
    /// Ten minutes is longer than a restart or a change of networks takes. After that, reading the feed again costs less
    /// than all its changes.
    var retention = 600.0
    /// `STREAM_HEARTBEAT` (15): seconds without an event after which a stream sends a heartbeat.
    var heartbeat = Duration.seconds(15)
    /// How long a client may leave sent data unread before its stream is closed.
    ///
    /// Two heartbeats by default: a client that still reads has read the first one by then.
    var writeTimeout = Duration.seconds(30)
    /// `STREAMS_MAX` (2,000): open streams of an instance; one more gets 503.
    var maximumStreams = 2_000
    /// Open streams of one user at one instance; one more closes the oldest.
    ///
    /// Enough for the devices of a user and for several tabs of a browser, which opens at most six connections to a
    /// host by HTTP/1.1.
    var maximumStreamsOfUser = 10
    /// `ACTIVITY_DIGEST_SECONDS` (60): minimum interval between two notifications about likes of a post, comments on a
    /// post, or followers.
    var digestInterval = 60.0
    /// Seconds for which undelivered notifications wait for push.
    ///
    /// A notification of a like or a comment that is a day old is of no use to its user.
    var activityRetention = 86_400.0
    /// `NATS_URL`: change notifications use NATS instead of PostgreSQL's NOTIFY.
    var natsURL: String?

    init() {}

    init(_ configuration: ConfigReader) throws {
        heartbeat = .seconds(try configuration.number("STREAM_HEARTBEAT", default: 15, in: 1...60))
        maximumStreams = try configuration.number("STREAMS_MAX", default: maximumStreams, in: 1...1_000_000)
        digestInterval = Double(try configuration.number("ACTIVITY_DIGEST_SECONDS", default: 60, in: 0...86_400))
        natsURL = configuration.text("NATS_URL")
    }
}
