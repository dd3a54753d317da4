package import Configuration
package import NIOCore
package import ServiceHost

/// The settings of the gateway; every setting has a safe default.
package struct GatewayConfiguration: Sendable {
    package var host = "127.0.0.1"
    package var port = 8080
    /// The address of `/metrics`; port 0 disables it.
    package var managementHost = "127.0.0.1"
    package var managementPort = 0
    /// The number of threads that serve connections; 0 means one per core.
    package var eventLoops = 0
    package var services: [UpstreamService] = []
    /// Origins whose pages may call the API; `*` allows all.
    package var corsOrigins: [String] = ["*"]

    /// The TLS certificate and its key; nil serves cleartext.
    package var certificates: ServerCertificate?
    /// The `max-age` of HSTS in seconds; 0 sends no HSTS field.
    package var hstsSeconds = 0
    /// Proxies in front of this gateway; the gateway trusts their forwarding fields.
    package var trustedProxies = AddressRanges.none

    /// Whether responses are compressed.
    ///
    /// Only routes whose compressed length reveals no secret are compressible, so that an operator has no reason to
    /// switch it off. Tests do.
    package var compressesResponses = true

    /// The maximum number of client connections; further connections receive 503.
    package var connectionLimit = 10_000
    /// The maximum number of connections of one address (IPv6: of one /64), except trusted proxies; 0 is no limit.
    package var addressConnectionLimit = 1_000
    /// Addresses without a connection limit.
    ///
    /// In a deployment these are the addresses of this machine, where a proxy or a tunnel may forward many clients.
    package var unlimitedAddresses = AddressRanges.none
    /// The maximum number of requests in progress at one instance; at most half may be long polls and event streams.
    ///
    /// At 1,000 requests/s, 4,096 wait four seconds: an instance that is further behind does not catch up, and its
    /// clients give up.
    package var upstreamConnectionLimit = 4_096
    /// The maximum size of a request body in bytes.
    package var bodyLimit = 24 * 1_024 * 1_024
    /// The maximum length of a request target in bytes.
    ///
    /// Twice the 8,000 octets that RFC 9110 (section 4.1) recommends to support.
    package var targetLimit = 16 * 1_024
    /// The maximum total size of a request's header fields in bytes, and their maximum number.
    package var headerBytesLimit = 64 * 1_024
    package var headerCountLimit = 200

    /// The kernel's receive buffer per client connection in bytes; nil keeps the kernel's default.
    package var receiveBuffer: Int?

    /// The time limit from a request's first byte to the end of its header fields.
    package var headerTimeout = TimeAmount.seconds(10)
    /// The time limit between two parts of a request body.
    ///
    /// A client that changes its network is back within 30 s, or its connection is lost.
    package var bodyTimeout = TimeAmount.seconds(30)
    /// The minimum average rate of a body in bytes per second, after the first `bodyTimeout`.
    ///
    /// Even GPRS is faster. Without a minimum, a byte every 30 s would keep a connection open for years.
    package var bodyMinRate = 1_024
    /// How long a client may leave sent data unread.
    ///
    /// Twice as long as a body may pause: a client that saves a large file to a slow disk reads in bursts.
    package var sendTimeout = TimeAmount.seconds(60)
    /// The time limit between two requests of a connection.
    ///
    /// Longer than the 60 s for which proxies such as nginx keep an idle connection, so that the proxy closes it first.
    package var idleTimeout = TimeAmount.seconds(75)
    /// The time limit for connecting to an instance.
    ///
    /// Instances are in the same network. Two seconds allow for one repeated SYN, which TCP sends after one second.
    package var connectTimeout = TimeAmount.seconds(2)
    /// The time limit from a request's end to the start of its response.
    package var responseTimeout = TimeAmount.seconds(30)
    /// The response time limit of Socket.IO long polls, which a service holds until an event or a ping is due.
    ///
    /// A poll is held for at most the 45 s of a ping interval and its timeout in conversations.
    package var pollTimeout = TimeAmount.seconds(120)
    /// The maximum silence of a service during a response, and of both sides of a tunnel.
    ///
    /// Event streams send a heartbeat at least every 60 s and sockets every 25 s; after five minutes, the peer is lost.
    package var streamIdleTimeout = TimeAmount.minutes(5)
    /// How long an idle connection to a service is kept; services keep theirs for 75 s.
    package var upstreamIdleTimeout = TimeAmount.seconds(30)
    /// Requests per second of one user and of one address, and registrations per minute of one address; 0 is no limit.
    package var userRate = 100
    package var addressRate = 500
    package var registerRate = 60
    /// The interval between two readiness checks of an instance; zero disables them.
    package var healthInterval = TimeAmount.seconds(1)
    /// The time limit of a readiness check.
    ///
    /// The default interval: an instance that takes longer to answer `/ready` fails other requests too.
    package var healthTimeout = TimeAmount.seconds(1)
    package var healthRules = HealthRules()
    package var drainTimeout = TimeAmount.seconds(30)

    package init() {}

    /// Reads the settings, which `docs/settings.md` describes.
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
        services = try UpstreamService.suite.map { name, prefixes, url in
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
        connectionLimit = try reader.number("CONNECTIONS_MAX", default: connectionLimit, in: 1...10_000_000)
        unlimitedAddresses = .loopback
        addressConnectionLimit = try reader.number(
            "CONNECTIONS_PER_ADDRESS_MAX",
            default: addressConnectionLimit,
            in: 0...10_000_000
        )
        bodyLimit = try reader.number("BODY_BYTES_MAX", default: bodyLimit)
        headerBytesLimit = try reader.number("HEADER_BYTES_MAX", default: headerBytesLimit, in: 1_024...1_048_576)
        headerCountLimit = try reader.number("HEADER_COUNT_MAX", default: headerCountLimit, in: 8...1_000)
        headerTimeout = try seconds("HEADER_TIMEOUT", headerTimeout)
        responseTimeout = try seconds("RESPONSE_TIMEOUT", responseTimeout)
        drainTimeout = try seconds("DRAIN_TIMEOUT", drainTimeout)
        userRate = try reader.number("RATE_USER", default: userRate, in: 0...1_000_000)
        addressRate = try reader.number("RATE_ADDRESS", default: addressRate, in: 0...1_000_000)
        registerRate = try reader.number("RATE_REGISTER", default: registerRate, in: 0...1_000_000)
        healthInterval = .seconds(Int64(try reader.number("HEALTH_INTERVAL", default: 1, in: 0...3_600)))
    }

    /// The interval between two checks of all deadlines: a quarter of the shortest one, from 10 ms to 500 ms.
    var tick: TimeAmount {
        let shortest = [headerTimeout, bodyTimeout, sendTimeout, idleTimeout, responseTimeout, streamIdleTimeout].min()
        let quarter = (shortest?.nanoseconds ?? 0) / 4
        return .nanoseconds(min(max(quarter, 10_000_000), 500_000_000))
    }
}

package struct GatewayConfigurationError: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}

extension String {
    var commaSeparated: [String] {
        split(separator: ",").map { String($0.trimmedASCII) }.filter { !$0.isEmpty }
    }
}
