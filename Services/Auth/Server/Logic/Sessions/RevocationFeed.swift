import Credentials
import Foundation
import Locks
import Logging
import Postgres
import ServiceLifecycle
import Wire

/// The feed that notifies every service of ended sessions within a moment.
///
/// All instances of auth write revocations to one table. An instance receives its own revocations at once, and polls
/// the table four times a second for those of other instances. Subscribers read from the feed, so the polling does not
/// grow with their number. A poll includes the 30 s before the last serial, because a transaction that drew its serial
/// early may commit late.
final class RevocationFeed: Sendable, Service {
    /// Seconds by which polls and responses overlap.
    static let overlap: TimeInterval = 30
    /// The longest time that a request waits for a new revocation.
    static let longPollTimeout: Duration = .seconds(5)
    private static let pollInterval: Duration = .milliseconds(250)
    /// The time for which a revocation with an out-of-order serial is repeated to clients whose cursor is already past
    /// it.
    private static let lateWindow: Duration = .seconds(1)

    private struct State {
        var isLoaded = false
        var isStopping = false
        var recent: [Int64: RevocationStore.Record] = [:]
        var latest: Int64 = 0
        /// Incremented by each change, so that a request does not wait for a change that has just happened.
        var version = 0
        var lateUntil: ContinuousClock.Instant?
        var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
        var lastWaiter = 0

        /// Records a change and returns the requests to resume.
        mutating func change() -> [CheckedContinuation<Void, Never>] {
            version += 1
            defer { waiting = [:] }
            return Array(waiting.values)
        }
    }

    private let database: PostgresPool
    private let lifetime: TimeInterval
    private let logger: Logger
    private let now: @Sendable () -> Date
    private let onRevoked: @Sendable ([Revocation]) -> Void
    private let state = Lock(State())

    /// Creates a feed of the revocations of the last `lifetime` seconds.
    ///
    /// `onRevoked` is called with new revocations, possibly more than once for the same revocation.
    init(
        database: PostgresPool,
        lifetime: Int,
        logger: Logger,
        now: @escaping @Sendable () -> Date,
        onRevoked: @escaping @Sendable ([Revocation]) -> Void
    ) {
        self.database = database
        self.lifetime = TimeInterval(lifetime)
        self.logger = logger
        self.now = now
        self.onRevoked = onRevoked
    }

    /// Loads all revocations that are still needed.
    func load() async throws {
        let records = try await RevocationStore(db: database.reads)
            .list(after: Int64.max, orSince: now().addingTimeInterval(-lifetime))
        receive(records)
        state.withLock { $0.isLoaded = true }
    }

    /// Publishes sessions that have just ended, and resumes waiting requests.
    ///
    /// `onRevoked` runs before a revocation is stored as received. The request that ended a session and a poll may
    /// publish the same revocation concurrently. The request must not respond before this process rejects the session's
    /// tokens.
    func receive(_ records: [RevocationStore.Record]) {
        let unknown = state.withLock { state in records.filter { state.recent[$0.serial] == nil } }
        guard !unknown.isEmpty else { return }
        onRevoked(unknown.map(revocation))
        let waiting = state.withLock { state in
            let new = unknown.filter { state.recent[$0.serial] == nil }
            guard !new.isEmpty else { return [CheckedContinuation<Void, Never>]() }
            for record in new { state.recent[record.serial] = record }
            if new.contains(where: { $0.serial < state.latest }) { state.lateUntil = .now + Self.lateWindow }
            state.latest = max(state.latest, new.map(\.serial).max() ?? 0)
            return state.change()
        }
        for waiter in waiting { waiter.resume() }
    }

    /// Returns the revocations after `after` and those of the last 30 s; without `after`, all that are still needed.
    ///
    /// Waits up to 5 s for a new revocation, and responds at once during a shutdown.
    func page(after: Int64?) async throws -> RevocationPage {
        guard let after else { return try currentPage(after: nil) }
        let deadline = ContinuousClock.now + Self.longPollTimeout
        while true {
            let (version, hasNew, isLate) = try state.withLock { state in
                guard state.isLoaded else { throw APIError.unavailable("the revocation feed") }
                let isLate = state.lateUntil.map { $0 > .now } ?? false
                return (state.version, state.latest > after || state.isStopping, isLate)
            }
            let isOver = ContinuousClock.now >= deadline || Task.isShuttingDownGracefully
            if hasNew || isOver { return try currentPage(after: after) }
            // A late revocation may have arrived between the client's requests. It is sent again, with a pause between
            // responses.
            let pause = isLate ? min(deadline, .now + .milliseconds(100)) : deadline
            // At shutdown the server stops before the feed, and waits for its open requests.
            await cancelWhenGracefulShutdown { await self.change(since: version, before: pause) }
            try Task.checkCancellation()
            if isLate || state.withLock({ $0.version }) != version { return try currentPage(after: after) }
        }
    }

    /// Polls for revocations of other instances until shutdown, then resumes all waiting requests.
    func run() async {
        await withGracefulShutdownHandler {
            await cancelWhenGracefulShutdown { await self.pollLoop() }
        } onGracefulShutdown: {
            let waiting = self.state.withLock { state in
                state.isStopping = true
                return state.change()
            }
            for waiter in waiting { waiter.resume() }
        }
    }

    private func pollLoop() async {
        var isFailing = false
        while !Task.isCancelled {
            guard (try? await Task.sleep(for: Self.pollInterval)) != nil else { return }  // The service stops.
            do {
                try await poll()
                if isFailing { logger.info("revocation polling recovered") }
                isFailing = false
            } catch is CancellationError {
                return
            } catch {
                if !isFailing { logger.warning("revocation polling failed", metadata: ["error": "\(error)"]) }
                isFailing = true
            }
        }
    }

    func poll() async throws {
        let latest = state.withLock { state in
            let horizon = now().addingTimeInterval(-lifetime)
            state.recent = state.recent.filter { $0.value.revokedAt > horizon }
            return state.latest
        }
        let since = now().addingTimeInterval(-Self.overlap)
        receive(try await RevocationStore(db: database.reads).list(after: latest, orSince: since))
    }

    private func currentPage(after: Int64?) throws -> RevocationPage {
        let (recent, latest) = try state.withLock { state in
            guard state.isLoaded else { throw APIError.unavailable("the revocation feed") }
            return (state.recent, state.latest)
        }
        let horizon = now().addingTimeInterval(-Self.overlap)
        let matching = recent.values.filter { record in
            after.map { record.serial > $0 || record.revokedAt > horizon } ?? true
        }
        return RevocationPage(
            revocations: matching.sorted { $0.serial < $1.serial }.map(revocation),
            after: max(latest, after ?? 0)
        )
    }

    private func revocation(_ record: RevocationStore.Record) -> Revocation {
        Revocation(record, lifetime: lifetime)
    }

    /// Returns after a change since `version`, or at `deadline`.
    private func change(since version: Int, before deadline: ContinuousClock.Instant) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.nextChange(since: version) }
            // The sleep is cancelled if the change comes first.
            group.addTask { try? await Task.sleep(until: deadline) }
            await group.next()
            group.cancelAll()
        }
    }

    private func nextChange(since version: Int) async {
        let id = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    guard !Task.isCancelled, !state.isStopping, state.version == version else {
                        return true
                    }
                    state.waiting[id] = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiting.removeValue(forKey: id) }?.resume()
        }
    }
}

extension Revocation {
    /// Creates a revocation that verifiers need for `lifetime` seconds.
    init(_ record: RevocationStore.Record, lifetime: TimeInterval) {
        self.init(
            sessionId: record.session.wire,
            serial: record.serial,
            until: record.revokedAt.addingTimeInterval(lifetime),
            tokenHash: record.tokenHash.map { Base64URL.encode($0) }
        )
    }
}
