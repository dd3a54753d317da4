import Crypto
import Foundation
import Postgres
import ServiceHost
import Wire

/// The limits of failed logins per account and per address.
///
/// An account name without an account is counted like any other. The counts are in the database and shared by all
/// instances. A known device has its own count, which other clients cannot exhaust. The account's owner can therefore
/// sign in while other clients are blocked. Failures of the device also count for its address.
struct LoginThrottle: Sendable {
    /// The length in seconds of a window of logins, successful or not.
    static let rateWindow = 60

    struct Bucket: Sendable {
        fileprivate let key: Data
        fileprivate let limit: Int
        /// Whether a full counter rejects this login; otherwise the login is only counted.
        fileprivate let isChecked: Bool

        fileprivate init(_ kind: String, _ name: Data, limit: Int, isChecked: Bool = true) {
            key = Data(SHA256.hash(data: Data("\(kind):".utf8) + name))
            self.limit = limit
            self.isChecked = isChecked
        }
    }

    /// The counters of one login: its own, and those that it shares with other accounts.
    struct Buckets: Sendable {
        fileprivate let own: Bucket
        fileprivate let shared: [Bucket]
        fileprivate var all: [Bucket] { ([own] + shared).filter { $0.limit > 0 } }
        var ownOnly: Buckets { Buckets(own: own, shared: []) }
        /// The shared counters; nil if there are none.
        var sharedOnly: Buckets? { shared.first.map { Buckets(own: $0, shared: Array(shared.dropFirst())) } }
    }

    let failures: Int
    let failuresPerAddress: Int
    /// The maximum number of logins per name within `rateWindow`, successful or not; 0 means no limit.
    let loginsPerMinute: Int
    /// The length in seconds of a window of failed logins.
    let window: Int

    /// Returns the counters for a login with a folded name, from a known device or not.
    func buckets(name: String, address: IPAddress?, knownDevice: KnownDevice?) -> Buckets {
        buckets("name", "device", Data(name.utf8), address, knownDevice)
    }

    /// Counts a login with a folded name before its password is compared.
    ///
    /// - Throws: `too_many_logins`, a 429, if the name has reached its limit for this minute.
    func countLogin(name: String, at now: Date, in db: any PostgresExecutor) async throws {
        guard loginsPerMinute > 0 else { return }
        let bucket = Bucket("logins", Data(name.utf8), limit: loginsPerMinute)
        let start = now.addingTimeInterval(-TimeInterval(Self.rateWindow))
        let store = LoginFailureStore(db: db)
        guard try await !store.add(to: bucket.key, upTo: bucket.limit, windowsSince: start, now: now) else { return }
        let since = try await store.counts(of: [bucket.key], since: start).map(\.since).max() ?? now
        throw APIError(
            .rateLimited,
            "too_many_logins",
            "too many logins for this account; try again later, or use an existing session",
            retryAfter: Self.wait(since, Self.rateWindow, now)
        )
    }

    /// Returns the counters for guesses at another secret of an account, such as second-factor codes.
    ///
    /// They are separate from the counters of logins.
    func buckets(
        of kind: String,
        account: UUID,
        address: IPAddress? = nil,
        knownDevice: KnownDevice? = nil
    ) -> Buckets {
        buckets(kind, "\(kind), device", Data(account.wire.utf8), address, knownDevice)
    }

    private func buckets(
        _ kind: String,
        _ kindOfDevice: String,
        _ name: Data,
        _ address: IPAddress?,
        _ knownDevice: KnownDevice?
    ) -> Buckets {
        // A device token is valid for one account, so its guesses need no limit per address. A deviceId may be the same
        // for all users of an app.
        let isAddressChecked = knownDevice?.isToken != true
        return Buckets(
            own: knownDevice.map { Bucket(kindOfDevice, $0.hash + name, limit: failures) }
                ?? Bucket(kind, name, limit: failures),
            shared: address.map { address in
                [Bucket("address", address.network, limit: failuresPerAddress, isChecked: isAddressChecked)]
            } ?? []
        )
    }

    /// Returns only the counter of an address, for an attempt that names no account; nil without an address.
    func buckets(address: IPAddress?) -> Buckets? {
        address.map { Buckets(own: Bucket("address", $0.network, limit: failuresPerAddress), shared: []) }
    }

    /// - Throws: `too_many_login_failures`, a 429, if one of the counters is full.
    func check(_ buckets: Buckets, at now: Date, in db: any PostgresExecutor) async throws {
        let checked = buckets.all.filter(\.isChecked)
        guard !checked.isEmpty else { return }
        let counts = try await LoginFailureStore(db: db).counts(of: checked.map(\.key), since: start(now))
        try refuse(counts, of: checked, now: now) { count, limit in count >= limit }
    }

    /// Counts a failed login.
    ///
    /// - Throws: `too_many_login_failures`, a 429, if the limit is exceeded, so that only the first of many parallel
    ///   attempts get a result.
    func count(_ buckets: Buckets, at now: Date, in db: any PostgresExecutor) async throws {
        let all = buckets.all
        guard !all.isEmpty else { return }
        let store = LoginFailureStore(db: db)
        let counts = try await store.add(to: all.map(\.key), windowsSince: start(now), now: now)
        try refuse(counts, of: all.filter(\.isChecked), now: now) { count, limit in count > limit }
    }

    /// Resets the account's own counter after a successful login, but not the shared counters.
    ///
    /// Otherwise an attacker could reset the address's counter by logins to an account of their own.
    func resetFailures(_ buckets: Buckets, in db: any PostgresExecutor) async throws {
        guard buckets.own.limit > 0 else { return }
        try await LoginFailureStore(db: db).clear(buckets.own.key)
    }

    /// The start of the oldest window that still counts.
    func start(_ now: Date) -> Date { now.addingTimeInterval(-TimeInterval(window)) }

    private func refuse(
        _ counts: [LoginFailureStore.Count],
        of buckets: [Bucket],
        now: Date,
        where isFull: (_ count: Int, _ limit: Int) -> Bool
    ) throws {
        let limits = Dictionary(buckets.map { ($0.key, $0.limit) }) { first, _ in first }
        let full = counts.filter { isFull($0.failures, limits[$0.bucket] ?? .max) }
        guard let last = full.map(\.since).max() else { return }
        throw APIError(
            .rateLimited,
            "too_many_login_failures",
            "too many failed logins; try again later",
            retryAfter: Self.wait(last, window, now)
        )
    }

    /// Returns the seconds until a window that began at `since` ends; at least 1.
    private static func wait(_ since: Date, _ window: Int, _ now: Date) -> Int {
        max(1, Int(since.addingTimeInterval(TimeInterval(window)).timeIntervalSince(now).rounded(.up)))
    }
}
