import Configuration
import Foundation
import ServiceHost
import SocialAPI

/// The settings of what tells people what changes on their networks.
struct RealtimeConfiguration: Sendable {
    /// `STREAM_RETENTION_SECONDS` (600): how long a stream can be gone on from.
    var retention: Double
    /// `STREAM_HEARTBEAT` (15): seconds after which a stream says that it is still there.
    var heartbeat: Duration
    /// `STREAM_WRITE_TIMEOUT` (30): seconds that a reader may leave what was said unread, before he is cut off.
    var writeTimeout: Duration
    /// `STREAMS_MAX` (2,000): open streams of an instance, before 503.
    var maximumStreams: Int
    /// `STREAMS_MAX_USER` (10): of one user at one instance; the first one goes for one more.
    var maximumStreamsOfUser: Int
    /// `SOCIAL_POLLS_PER_HOUR`: looks an hour that each network's application key allows, as `tumblr=900,vine=1800`.
    var pollsPerHour: [Network: Double]

    /// Well below what the networks allow an application, or an address; each look is one request.
    private static let defaultPollsPerHour: [Network: Double] = [
        .facebook: 4_000, .twitter: 3_000, .instagram: 4_000, .vine: 1_800, .tumblr: 900, .reddit: 5_000,
        .mastodon: 30_000, .bluesky: 30_000,
    ]

    init(_ configuration: ConfigReader) throws {
        retention = Double(try configuration.number("STREAM_RETENTION_SECONDS", default: 600, in: 1...86_400))
        heartbeat = .seconds(try configuration.number("STREAM_HEARTBEAT", default: 15, in: 1...60))
        writeTimeout = .seconds(try configuration.number("STREAM_WRITE_TIMEOUT", default: 30, in: 1...3_600))
        maximumStreams = try configuration.number("STREAMS_MAX", default: 2_000, in: 1...1_000_000)
        maximumStreamsOfUser = try configuration.number("STREAMS_MAX_USER", default: 10, in: 1...100_000)
        pollsPerHour = Self.defaultPollsPerHour
        for entry in configuration.text("SOCIAL_POLLS_PER_HOUR", default: "").split(separator: ",") {
            let parts = entry.split(separator: "=")
            guard parts.count == 2, let network = Network(named: parts[0].trimmingCharacters(in: .whitespaces)),
                let count = Double(parts[1]), (0...10_000_000).contains(count)
            else { throw SettingError("SOCIAL_POLLS_PER_HOUR", "has \"\(entry)\"; an entry is like tumblr=900") }
            pollsPerHour[network] = count
        }
    }
}
