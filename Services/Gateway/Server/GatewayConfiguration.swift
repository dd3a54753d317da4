package import Configuration
package import NIOCore
package import ServiceHost

/// What an operator may set of the gateway; every key has a default that is safe.
package struct GatewayConfiguration: Sendable {
    /// The address listened on.
    package var host = "127.0.0.1"
    package var port = 8080
    /// Where `/metrics` is listened for; 0 is off.
    package var managementHost = "127.0.0.1"
    package var managementPort = 0
    /// Threads that carry connections; 0 is one a core.
    package var eventLoops = 0
    /// The services behind, each with its instances.
    package var services: [UpstreamService] = []
    /// Origins that browsers may call from; `*` is any.
    package var corsOrigins: [String] = ["*"]

    /// What connections are encrypted with; nil for cleartext.
    package var certificates: ServerCertificate?
    /// For how many seconds browsers are told to come by https alone; 0 tells them nothing.
    package var hstsSeconds = 0
    /// Proxies in front of this gateway, whose word is taken on where a request came from.
    package var trustedProxies = AddressRanges.none

    /// Whether answers are compressed where that is safe.
    package var compressesResponses = true

    /// Client connections at once; one more is answered 503.
    package var connectionLimit = 10_000
    /// Of these, the connections of one address (IPv6: of a /64), but of trusted proxies; 0 is no limit.
    package var addressConnectionLimit = 1_000
    /// Addresses whose connections count towards no address: in a deployment those of this machine, where a proxy or a
    /// tunnel may bring the connections of many clients.
    package var unlimitedAddresses = AddressRanges.none
    /// Requests under way at once to one instance, half of which may be held polls and event streams.
    package var upstreamConnectionLimit = 4_096
    /// Bytes of a request's body.
    package var bodyLimit = 24 * 1_024 * 1_024
    /// Bytes of a request's target.
    package var targetLimit = 16 * 1_024
    /// Bytes of a request's header fields, and their number.
    package var headerBytesLimit = 64 * 1_024
    package var headerCountLimit = 200

    /// Bytes that the kernel takes of a client's connection before we do; nil leaves it to the kernel.
    package var receiveBuffer: Int?

    /// From a request's first byte to the end of its header fields.
    package var headerTimeout = TimeAmount.seconds(10)
    /// Between two pieces of a request's body.
    package var bodyTimeout = TimeAmount.seconds(30)
    /// Bytes a second that a body must bring on average once it has had `bodyTimeout`.
    package var bodyMinRate = 1_024
    /// How long a client may leave what was sent to it unread.
    package var sendTimeout = TimeAmount.seconds(60)
    /// Between two requests on one connection.
    package var idleTimeout = TimeAmount.seconds(75)
    /// Until a service takes a connection.
    package var connectTimeout = TimeAmount.seconds(2)
    /// From a request's end to the beginning of its answer.
    package var responseTimeout = TimeAmount.seconds(30)
    /// The same of a poll for news (Socket.IO), which its service holds until there are some, or it is time for a ping.
    package var pollTimeout = TimeAmount.seconds(120)
    /// Silence of a service in the middle of an answer, and of both sides of a tunnel.
    package var streamIdleTimeout = TimeAmount.minutes(5)
    /// How long a connection to a service is kept for the next request; services keep theirs for 75 s.
    package var upstreamIdleTimeout = TimeAmount.seconds(30)
    /// Requests a second of one person and of one address, and new accounts a minute of one address; 0 is no limit.
    package var userRate = 100
    package var addressRate = 500
    package var registerRate = 60
    /// How often each instance is asked whether it is ready, and how long it may take to say so; zero asks nobody.
    package var healthInterval = TimeAmount.seconds(1)
    package var healthTimeout = TimeAmount.seconds(1)
    package var healthRules = HealthRules()
    /// How long requests under way may take to finish when the gateway is told to stop.
    package var drainTimeout = TimeAmount.seconds(30)

    package init() {}

    /// Reads the settings.
    ///
    /// - `HOST` (`127.0.0.1`), `PORT` (8080): where clients come in.
    /// - `MANAGEMENT_HOST` (`127.0.0.1`), `MANAGEMENT_PORT` (9090): `/metrics`; port 0 is off.
    /// - `AUTH_URL` (`http://127.0.0.1:8081`), `CONVERSATIONS_URL` (`http://127.0.0.1:8082`), `PHOTOS_URL`
    ///   (`http://127.0.0.1:8084`), `PUSH_URL` (`http://127.0.0.1:8085`): instances of the services, separated by commas.
    /// - `CORS_ORIGINS` (`*`): origins that browsers may call from, separated by commas.
    /// - `TLS_CERTIFICATE`, `TLS_KEY` (none, for cleartext): the certificate with its chain and its private key, in PEM,
    ///   or the paths of files with them.
    /// - `HSTS_SECONDS` (0, off): for how long browsers are told to come by https alone.
    /// - `TRUSTED_PROXIES` (none): addresses and ranges of proxies in front, separated by commas.
    /// - `COMPRESSION` (1): whether answers are compressed where that is safe.
    /// - `EVENT_LOOPS` (0, one a core): threads that carry connections.
    /// - `CONNECTIONS_MAX` (10000), `CONNECTIONS_PER_ADDRESS_MAX` (1000, 0 is no limit): client connections in all and of one
    ///   address. `UPSTREAM_REQUESTS_MAX` (4096): requests at one instance.
    /// - `BODY_BYTES_MAX` (25165824), `HEADER_BYTES_MAX` (65536), `HEADER_COUNT_MAX` (200), `TARGET_BYTES_MAX` (16384): sizes.
    /// - `HEADER_TIMEOUT` (10), `BODY_TIMEOUT` (30), `SEND_TIMEOUT` (60), `IDLE_TIMEOUT` (75), `CONNECT_TIMEOUT` (2),
    ///   `RESPONSE_TIMEOUT` (30), `POLL_TIMEOUT` (120), `STREAM_IDLE_TIMEOUT` (300), `DRAIN_TIMEOUT` (30): seconds.
    /// - `BODY_MIN_RATE` (1024): bytes a second that a body must bring on average.
    /// - `RATE_USER` (100), `RATE_ADDRESS` (500): requests a second of one person and of one address, on average; ten
    ///   seconds' worth may come at once. `RATE_REGISTER` (60): new accounts a minute of one address. 0 is no limit.
    /// - `HEALTH_INTERVAL` (1), `HEALTH_TIMEOUT` (1): seconds between two checks of an instance, 0 for none; seconds that
    ///   it has to answer.
    package init(reader: ConfigReader) throws {
        func seconds(_ name: String, _ standard: TimeAmount) throws -> TimeAmount {
            let standard = standard.nanoseconds / 1_000_000_000
            return .seconds(Int64(try reader.number(name, default: Int(standard), in: 1...86_400)))
        }
        host = reader.text("HOST", default: host)
        port = try reader.number("PORT", default: port, in: 0...65_535)
        managementHost = reader.text("MANAGEMENT_HOST", default: managementHost)
        managementPort = try reader.number("MANAGEMENT_PORT", default: 9_090, in: 0...65_535)
        eventLoops = try reader.number("EVENT_LOOPS", default: eventLoops, in: 0...1_024)
        services = try UpstreamService.known.map { name, prefixes, url in
            let urls = try reader.baseURLs("\(name.uppercased())_URL", default: url)
            return try UpstreamService(name: name, prefixes: prefixes, urls: urls)
        }
        corsOrigins = reader.text("CORS_ORIGINS", default: "*").commaSeparated
        certificates = try CertificateSource(reader: reader).map(ServerCertificate.init)
        hstsSeconds = try reader.number("HSTS_SECONDS", default: 0, in: 0...63_072_000)
        if let ranges = reader.text("TRUSTED_PROXIES") {
            guard let ranges = AddressRanges(ranges) else {
                throw SettingError("TRUSTED_PROXIES", "must be addresses or ranges like 10.0.0.0/8, comma-separated")
            }
            trustedProxies = ranges
        }
        compressesResponses = try reader.flag("COMPRESSION", default: true)
        connectionLimit = try reader.number("CONNECTIONS_MAX", default: connectionLimit, in: 1...10_000_000)
        unlimitedAddresses = .loopback
        addressConnectionLimit = try reader.number(
            "CONNECTIONS_PER_ADDRESS_MAX",
            default: addressConnectionLimit,
            in: 0...10_000_000
        )
        upstreamConnectionLimit = try reader.number(
            "UPSTREAM_REQUESTS_MAX",
            default: upstreamConnectionLimit,
            in: 1...10_000_000
        )
        bodyLimit = try reader.number("BODY_BYTES_MAX", default: bodyLimit)
        targetLimit = try reader.number("TARGET_BYTES_MAX", default: targetLimit, in: 1...headerBytesLimit)
        headerBytesLimit = try reader.number("HEADER_BYTES_MAX", default: headerBytesLimit, in: 1_024...1_048_576)
        headerCountLimit = try reader.number("HEADER_COUNT_MAX", default: headerCountLimit, in: 8...1_000)
        headerTimeout = try seconds("HEADER_TIMEOUT", headerTimeout)
        bodyTimeout = try seconds("BODY_TIMEOUT", bodyTimeout)
        bodyMinRate = try reader.number("BODY_MIN_RATE", default: bodyMinRate, in: 1...1_000_000_000)
        sendTimeout = try seconds("SEND_TIMEOUT", sendTimeout)
        idleTimeout = try seconds("IDLE_TIMEOUT", idleTimeout)
        connectTimeout = try seconds("CONNECT_TIMEOUT", connectTimeout)
        responseTimeout = try seconds("RESPONSE_TIMEOUT", responseTimeout)
        pollTimeout = try seconds("POLL_TIMEOUT", pollTimeout)
        streamIdleTimeout = try seconds("STREAM_IDLE_TIMEOUT", streamIdleTimeout)
        drainTimeout = try seconds("DRAIN_TIMEOUT", drainTimeout)
        userRate = try reader.number("RATE_USER", default: userRate, in: 0...1_000_000)
        addressRate = try reader.number("RATE_ADDRESS", default: addressRate, in: 0...1_000_000)
        registerRate = try reader.number("RATE_REGISTER", default: registerRate, in: 0...1_000_000)
        healthInterval = .seconds(Int64(try reader.number("HEALTH_INTERVAL", default: 1, in: 0...3_600)))
        healthTimeout = try seconds("HEALTH_TIMEOUT", healthTimeout)
    }

    /// How often deadlines are looked at: fine enough for the shortest of them, and never more than twice a second in
    /// production.
    var tick: TimeAmount {
        let shortest = [headerTimeout, bodyTimeout, sendTimeout, idleTimeout, responseTimeout, streamIdleTimeout].min()
        let quarter = (shortest?.nanoseconds ?? 0) / 4
        return .nanoseconds(min(max(quarter, 10_000_000), 500_000_000))
    }
}

/// A setting that the gateway cannot start with.
package struct GatewayConfigurationError: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}

extension String {
    /// The parts between commas, without the spaces around them and without empty ones.
    var commaSeparated: [String] {
        split(separator: ",").map { String($0.trimmedASCII) }.filter { !$0.isEmpty }
    }
}
