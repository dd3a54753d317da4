import Configuration
import Foundation
import ServiceHost
import SocialAPI

/// The settings of streams and polls.
struct RealtimeConfiguration: Sendable {
    /// `STREAM_RETENTION_SECONDS` (600): the time for which a client can resume a stream.
    var retention: Double
    /// `STREAM_HEARTBEAT` (15): the seconds without an event after which a stream sends a heartbeat.
    var heartbeat: Duration
    /// `STREAM_WRITE_TIMEOUT` (30): the seconds after which a client that does not read is disconnected.
    var writeTimeout: Duration
    /// `STREAMS_MAX` (2,000): the maximum number of open streams of an instance; one more gets 503.
    var maximumStreams: Int
    /// `STREAMS_MAX_USER` (10): the maximum number of open streams of a user at an instance; one more ends the oldest.
    var maximumStreamsOfUser: Int
    /// `SOCIAL_POLLS_PER_HOUR`: the polls per hour for each network's application key, such as `tumblr=900,vine=1800`.
    var pollsPerHour: [Network: Double]

    /// The default limits, which are well below the networks' limits per application or address.
    ///
    /// Each poll is one request.
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
            else {
                throw SettingError(
                    "SOCIAL_POLLS_PER_HOUR",
                    "contains the invalid entry \"\(entry)\"; write <network>=<polls per hour>, for example tumblr=900"
                )
            }
            pollsPerHour[network] = count
        }
    }
}
