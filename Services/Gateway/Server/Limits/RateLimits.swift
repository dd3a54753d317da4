/// The limits that are on; the buckets outlive a change of their rates.
struct RateLimits: Sendable {
    /// The memory of the limits: 16 bytes a bucket, whatever comes.
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

    /// So many a second, and ten seconds' worth at once.
    private static func perSecond(_ count: Int) -> Rate? {
        count > 0 ? Rate(count, in: 1, burst: 10 * count) : nil
    }

    /// So many a minute, and a minute's worth at once.
    private static func perMinute(_ count: Int) -> Rate? {
        count > 0 ? Rate(count, in: 60, burst: count) : nil
    }
}
