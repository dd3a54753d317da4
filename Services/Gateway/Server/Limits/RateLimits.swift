/// The active rate limits; the buckets are kept when the rates change.
struct RateLimits: Sendable {
    /// The buckets of the limits, a fixed number of 16 bytes each.
    struct Tables: Sendable {
        let user = TokenBuckets(capacity: 32_768)
        let address = TokenBuckets(capacity: 32_768)
        let register = TokenBuckets(capacity: 8_192)
    }

    let user: RateLimit?
    let address: RateLimit?
    let register: RateLimit?
    let tables: Tables

    init(configuration: GatewayConfiguration, tables: Tables = Tables()) {
        self.tables = tables
        func limit(_ name: RateLimit.Name, _ rate: Rate?, _ buckets: TokenBuckets) -> RateLimit? {
            rate.map { RateLimit(name, rate: $0, buckets: buckets) }
        }
        user = limit(.user, Self.perSecond(configuration.userRate), tables.user)
        address = limit(.address, Self.perSecond(configuration.addressRate), tables.address)
        register = limit(.register, Self.perMinute(configuration.registerRate), tables.register)
    }

    /// Returns a rate per second with a burst of ten seconds.
    private static func perSecond(_ count: Int) -> Rate? {
        count > 0 ? Rate(count, in: 1, burst: 10 * count) : nil
    }

    /// Returns a rate per minute with a burst of one minute.
    private static func perMinute(_ count: Int) -> Rate? {
        count > 0 ? Rate(count, in: 60, burst: count) : nil
    }
}
