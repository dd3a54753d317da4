import Credentials
import Foundation
import Locks
import Logging
import Postgres
import ServiceLifecycle
import Wire

/// Tells every service, within a moment, which sessions have ended.
///
/// All instances of auth write to one table. What this one ends it knows at once; what another ends it finds by looking
/// four times a second, for one reader here and not for each subscriber. A look goes back 30 s beyond the last serial,
/// since a transaction that took its serial early may commit late.
final class RevocationFeed: Sendable, Service {
    /// How far back answers and looks overlap, in seconds.
    static let overlap: TimeInterval = 30
    /// How long an answer is held while there is nothing to tell.
    static let longPollTimeout: Duration = .seconds(5)
    private static let pollInterval: Duration = .milliseconds(250)
    /// How long a revocation that came out of order is announced to whoever asks beyond its serial.
    private static let lateWindow: Duration = .seconds(1)

    private struct State {
        var isLoaded = false
        var isStopping = false
        var known: [Int64: RevocationStore.Record] = [:]
        var latest: Int64 = 0
        /// Grows with each change, so that nobody waits for one that was just made.
        var version = 0
        var lateUntil: ContinuousClock.Instant?
        var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
        var lastWaiter = 0

        /// Notes a change; returns those to wake.
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

    /// A feed of revocations that matter for `lifetime` seconds; `onRevoked` is called with the new ones, sometimes more than once.
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

    /// Reads all that still matter.
    func load() async throws {
        let records = try await RevocationStore(db: database.reads)
            .list(after: Int64.max, orSince: now().addingTimeInterval(-lifetime))
        receive(records)
        state.withLock { $0.isLoaded = true }
    }

    /// Takes sessions that just ended, and wakes the requests that wait for news.
    ///
    /// A revocation is told before it counts as known. A request that ended a session and a look at the table can find
    /// the same one at the same time, and the request must not answer before its token is refused here.
    func receive(_ records: [RevocationStore.Record]) {
        let unknown = state.withLock { state in records.filter { state.known[$0.serial] == nil } }
        guard !unknown.isEmpty else { return }
        onRevoked(unknown.map(revocation))
        let waiting = state.withLock { state in
            let new = unknown.filter { state.known[$0.serial] == nil }
            guard !new.isEmpty else { return [CheckedContinuation<Void, Never>]() }
            for record in new { state.known[record.serial] = record }
            if new.contains(where: { $0.serial < state.latest }) { state.lateUntil = .now + Self.lateWindow }
            state.latest = max(state.latest, new.map(\.serial).max() ?? 0)
            return state.change()
        }
        for waiter in waiting { waiter.resume() }
    }

    /// An answer of the feed: those after `after` and those of the last 30 s; all that matter without `after`.
    ///
    /// Waits up to 5 s for one. At shutdown it answers at once.
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
            // It may have been found between the last answer and this request: told again, but not without a pause.
            let pause = isLate ? min(deadline, .now + .milliseconds(100)) : deadline
            // The server stops before the feed does, and waits for its requests.
            await cancelWhenGracefulShutdown { await self.change(since: version, before: pause) }
            try Task.checkCancellation()
            if isLate || state.withLock({ $0.version }) != version { return try currentPage(after: after) }
        }
    }

    /// Looks for what other instances ended, until the service is shut down; then lets go of all who wait.
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
            guard (try? await Task.sleep(for: Self.pollInterval)) != nil else { return }  // cancelled: at an end
            do {
                try await poll()
                if isFailing { logger.info("revocations can be read again") }
                isFailing = false
            } catch is CancellationError {
                return
            } catch {
                if !isFailing { logger.warning("revocations not read", metadata: ["error": "\(error)"]) }
                isFailing = true
            }
        }
    }

    /// Looks once.
    func poll() async throws {
        let latest = state.withLock { state in
            let horizon = now().addingTimeInterval(-lifetime)
            state.known = state.known.filter { $0.value.revokedAt > horizon }
            return state.latest
        }
        let since = now().addingTimeInterval(-Self.overlap)
        receive(try await RevocationStore(db: database.reads).list(after: latest, orSince: since))
    }

    private func currentPage(after: Int64?) throws -> RevocationPage {
        let (known, latest) = try state.withLock { state in
            guard state.isLoaded else { throw APIError.unavailable("the revocation feed") }
            return (state.known, state.latest)
        }
        let horizon = now().addingTimeInterval(-Self.overlap)
        let matching = known.values.filter { record in
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

    /// Returns when something changed since `version`, or at `deadline`.
    private func change(since version: Int, before deadline: ContinuousClock.Instant) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.nextChange(since: version) }
            // Cancelled when the change comes first.
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
    /// One that matters for `lifetime` seconds.
    init(_ record: RevocationStore.Record, lifetime: TimeInterval) {
        self.init(
            sessionId: record.session.wire,
            serial: record.serial,
            until: record.revokedAt.addingTimeInterval(lifetime),
            tokenHash: record.tokenHash.map { Base64URL.encode($0) }
        )
    }
}
