import Configuration
import Foundation
import ServiceHost
import SocialAPI

/// The settings of streams and polls.
struct RealtimeConfiguration: Sendable {
    /// Seconds for which a client can resume a stream.
    ///
    /// Ten minutes is longer than a restart or a change of networks takes. After that, reading the lists again costs
    /// less than all their changes.
    var retention = 600.0
    /// `STREAM_HEARTBEAT` (15): the seconds without an event after which a stream sends a heartbeat.
    var heartbeat: Duration
    /// The time after which a client that does not read is disconnected.
    ///
    /// Two heartbeats by default: a client that still reads has read the first one by then.
    var writeTimeout = Duration.seconds(30)
    /// `STREAMS_MAX` (2,000): the open streams of an instance, above which it responds with 503.
    var maximumStreams: Int
    /// The open streams of a user at an instance; one more ends the oldest.
    ///
    /// Enough for the devices of a user and for several tabs of a browser, which opens at most six connections to a
    /// host by HTTP/1.1.
    var maximumStreamsOfUser = 10
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
        heartbeat = .seconds(try configuration.number("STREAM_HEARTBEAT", default: 15, in: 1...60))
        maximumStreams = try configuration.number("STREAMS_MAX", default: 2_000, in: 1...1_000_000)
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
