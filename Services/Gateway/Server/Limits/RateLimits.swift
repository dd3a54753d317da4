import Metrics
import Wire

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

/// One rate limit: counts a request of a key, and rejects it when the key has no quota left.
struct RateLimit: Sendable {
    enum Name: String, CaseIterable, Sendable {
        case user
        case address
        case register
    }

    let name: Name
    let rate: Rate
    private let buckets: TokenBuckets
    private let refusals: Counter
    /// The value of `RateLimit-Policy`.
    private let policy: String
    private let prefix: String

    init(_ name: Name, rate: Rate, buckets: TokenBuckets) {
        self.name = name
        self.rate = rate
        self.buckets = buckets
        refusals = Counter(label: "roost_gateway_rate_limited_total", dimensions: [("limit", name.rawValue)])
        // In the draft's terms, the quota is the burst, and the window is the time to refill it.
        policy = "\"\(name.rawValue)\";q=\(rate.burst);w=\(Self.seconds(rate.window))"
        prefix = "\"\(name.rawValue)\";r="
    }

    /// Counts a request and returns the remaining quota; `share` requests together count as one.
    ///
    /// - Throws: `RateExceeded` when the limit is exceeded.
    func admit(_ key: UInt64, share: UInt64 = 1, now: UInt64) throws(RateExceeded) -> RateQuota {
        let decision = buckets.take(key, share: share, at: rate, now: now)
        let value = "\(prefix)\(decision.remaining);t=\(Self.seconds(decision.untilFull))"
        let quota = RateQuota(policy: policy, value: value)
        guard decision.isAdmitted else {
            refusals.increment()
            throw RateExceeded(quota: quota, retryAfter: Int(Self.seconds(decision.untilNext)))
        }
        return quota
    }

    private static func seconds(_ nanoseconds: UInt64) -> UInt64 {
        max(1, (nanoseconds + 999_999_999) / 1_000_000_000)
    }
}

/// The rate limit fields of a response: `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-10).
struct RateQuota: Sendable {
    let policy: String
    let value: String

    func addFields(_ fields: inout [(String, String)]) {
        fields.append(("ratelimit-policy", policy))
        fields.append(("ratelimit", value))
    }
}

struct RateExceeded: Error {
    let quota: RateQuota
    /// Seconds until the next request is allowed.
    let retryAfter: Int

    var apiError: APIError {
        APIError(.rateLimited, "rate_limited", "too many requests; slow down", retryAfter: retryAfter)
    }
}
