import Crypto
import Foundation
import Postgres
import ServiceHost
import Wire

/// Slows failed logins down: per account, whether there is one or not, and per address.
///
/// The counts are in the database, so all instances share them. A device that has signed in to the account before has
/// a count of its own, which nobody else can use up: its owner gets in while others are kept out. Its failures count
/// towards its address too.
struct LoginThrottle: Sendable {
    /// Seconds that a window of logins, right or wrong, lasts.
    static let rateWindow = 60

    /// A count, and where it ends.
    struct Bucket: Sendable {
        fileprivate let key: Data
        fileprivate let limit: Int
        /// Whether a full count refuses this login; else it only counts towards the logins of others.
        fileprivate let isChecked: Bool

        fileprivate init(_ kind: String, _ name: Data, limit: Int, isChecked: Bool = true) {
            key = Data(SHA256.hash(data: Data("\(kind):".utf8) + name))
            self.limit = limit
            self.isChecked = isChecked
        }
    }

    /// What one login counts towards: its own bucket first, then what it shares with other accounts.
    struct Buckets: Sendable {
        fileprivate let own: Bucket
        fileprivate let shared: [Bucket]
        fileprivate var all: [Bucket] { ([own] + shared).filter { $0.limit > 0 } }
        /// Without what it shares with other accounts.
        var ownOnly: Buckets { Buckets(own: own, shared: []) }
        /// What it shares with other accounts; nil where that is nothing.
        var sharedOnly: Buckets? { shared.first.map { Buckets(own: $0, shared: Array(shared.dropFirst())) } }
    }

    let failures: Int
    let failuresPerAddress: Int
    /// Logins in a window of `rateWindow`, with a right password or a wrong one; 0 is no limit.
    let loginsPerMinute: Int
    /// Seconds.
    let window: Int

    /// What a login by this folded name counts towards, from a device that has signed in to the account before or not.
    func buckets(name: String, address: IPAddress?, knownDevice: KnownDevice?) -> Buckets {
        buckets("name", "device", Data(name.utf8), address, knownDevice)
    }

    /// Counts a login by this folded name before its password is compared.
    ///
    /// - Throws: a 429 where the name has had enough of them in this minute.
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
            "too many logins to one account; keep the session and refresh it",
            retryAfter: Self.wait(since, Self.rateWindow, now)
        )
    }

    /// What a guess at something else of an account counts towards, as at a code of its second factor: a count that nobody
    /// uses up by logging in.
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
        // A token is good for one account, so no address is needed to bound its guesses. A deviceId can be common to all
        // users of an app.
        let isAddressChecked = knownDevice?.isToken != true
        return Buckets(
            own: knownDevice.map { Bucket(kindOfDevice, $0.hash + name, limit: failures) }
                ?? Bucket(kind, name, limit: failures),
            shared: address.map { address in
                [Bucket("address", address.network, limit: failuresPerAddress, isChecked: isAddressChecked)]
            } ?? []
        )
    }

    /// What counts towards an address alone: a try of which nobody knows whose account it is.
    func buckets(address: IPAddress?) -> Buckets? {
        address.map { Buckets(own: Bucket("address", $0.network, limit: failuresPerAddress), shared: []) }
    }

    /// - Throws: a 429 where one of them is full.
    func check(_ buckets: Buckets, at now: Date, in db: any PostgresExecutor) async throws {
        let checked = buckets.all.filter(\.isChecked)
        guard !checked.isEmpty else { return }
        let counts = try await LoginFailureStore(db: db).counts(of: checked.map(\.key), since: start(now))
        try refuse(counts, of: checked, now: now) { count, limit in count >= limit }
    }

    /// Counts a failed login.
    ///
    /// - Throws: a 429 where that was one too many, so that even of many tries at once only the first are answered.
    func count(_ buckets: Buckets, at now: Date, in db: any PostgresExecutor) async throws {
        let all = buckets.all
        guard !all.isEmpty else { return }
        let store = LoginFailureStore(db: db)
        let counts = try await store.add(to: all.map(\.key), windowsSince: start(now), now: now)
        try refuse(counts, of: all.filter(\.isChecked), now: now) { count, limit in count > limit }
    }

    /// Forgets the failures of whoever got in; not those of the address, which would let one account open the others.
    func resetFailures(_ buckets: Buckets, in db: any PostgresExecutor) async throws {
        guard buckets.own.limit > 0 else { return }
        try await LoginFailureStore(db: db).clear(buckets.own.key)
    }

    /// The begin of the oldest window that still counts.
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

    /// Seconds until a window that began at `since` is over; at least 1.
    private static func wait(_ since: Date, _ window: Int, _ now: Date) -> Int {
        max(1, Int(since.addingTimeInterval(TimeInterval(window)).timeIntervalSince(now).rounded(.up)))
    }
}
