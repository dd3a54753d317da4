import Crypto
import Foundation
import Postgres
import ServiceHost
import Wire

/// Slows failed logins down: per account, whether there is one or not, and per address.
///
/// The counts are in the database, so all instances share them. A device that has signed in to the account before has
/// a count of its own, which nobody else can use up: its owner gets in while others are kept out.
struct LoginThrottle: Sendable {
    /// A count, and where it ends.
    struct Bucket: Sendable {
        fileprivate let key: Data
        fileprivate let limit: Int

        fileprivate init(_ kind: String, _ name: Data, limit: Int) {
            key = Data(SHA256.hash(data: Data("\(kind):".utf8) + name))
            self.limit = limit
        }
    }

    /// What one login counts towards: its own bucket first, then what it shares with other accounts.
    struct Buckets: Sendable {
        fileprivate let own: Bucket
        fileprivate let shared: [Bucket]
        fileprivate var all: [Bucket] { ([own] + shared).filter { $0.limit > 0 } }
        /// Without what it shares with other accounts.
        var ownAlone: Buckets { Buckets(own: own, shared: []) }
        /// What it shares with other accounts; nil where that is nothing.
        var sharedAlone: Buckets? { shared.first.map { Buckets(own: $0, shared: Array(shared.dropFirst())) } }
    }

    let failures: Int
    let failuresPerAddress: Int
    /// Seconds.
    let window: Int

    /// What a login by this folded name counts towards, from a device that has signed in to the account before or not.
    func buckets(name: String, address: IPAddress?, knownDevice device: Data?) -> Buckets {
        if let device {
            return Buckets(own: Bucket("device", device + Data(name.utf8), limit: failures), shared: [])
        }
        return Buckets(
            own: Bucket("name", Data(name.utf8), limit: failures),
            shared: address.map { [Bucket("address", $0.place, limit: failuresPerAddress)] } ?? []
        )
    }

    /// What a guess at something else of an account counts towards, as at a code of its second factor: a count that nobody
    /// uses up by logging in.
    func buckets(
        of thing: String,
        account: UUID,
        address: IPAddress? = nil,
        knownDevice device: Data? = nil
    ) -> Buckets {
        let name = Data(account.wire.utf8)
        if let device {
            return Buckets(own: Bucket("\(thing), device", device + name, limit: failures), shared: [])
        }
        return Buckets(
            own: Bucket(thing, name, limit: failures),
            shared: address.map { [Bucket("address", $0.place, limit: failuresPerAddress)] } ?? []
        )
    }

    /// What counts towards an address alone: a try of which nobody knows whose account it is.
    func buckets(address: IPAddress?) -> Buckets? {
        address.map { Buckets(own: Bucket("address", $0.place, limit: failuresPerAddress), shared: []) }
    }

    /// - Throws: a 429 where one of them is full.
    func check(_ buckets: Buckets, at now: Date, in db: any PostgresExecutor) async throws {
        let all = buckets.all
        guard !all.isEmpty else { return }
        let counts = try await LoginFailureStore(db: db).counts(of: all.map(\.key), since: start(now))
        try refuse(counts, of: all, now: now) { count, limit in count >= limit }
    }

    /// Counts a failed login.
    ///
    /// - Throws: a 429 where that was one too many, so that even of many tries at once only the first are answered.
    func count(_ buckets: Buckets, at now: Date, in db: any PostgresExecutor) async throws {
        let all = buckets.all
        guard !all.isEmpty else { return }
        let store = LoginFailureStore(db: db)
        let counts = try await store.add(to: all.map(\.key), windowsSince: start(now), now: now)
        try refuse(counts, of: all, now: now) { count, limit in count > limit }
    }

    /// Forgets the failures of whoever got in; not those of the address, which would let one account open the others.
    func forgive(_ buckets: Buckets, in db: any PostgresExecutor) async throws {
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
        let wait = last.addingTimeInterval(TimeInterval(window)).timeIntervalSince(now)
        throw APIError(
            .rateLimited,
            "too_many_failures",
            "too many failed logins; try again later",
            retryAfter: max(1, Int(wait.rounded(.up)))
        )
    }
}
