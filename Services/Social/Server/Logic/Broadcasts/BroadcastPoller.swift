import Foundation
import Logging
import Metrics
import Postgres
import PushAPI
import ServiceHost
import SocialAPI

/// Asks what is live, once for everybody and all instances, and has followers told of each new stream once.
///
/// Whoever sets the time of the next round asks this time. What was found, that a stream was told, and the event that tells
/// push of it are one transaction; push knows an event and a stream that come again.
struct BroadcastPoller: Sendable {
    /// From one round to the next, in seconds.
    static let interval: TimeInterval = 5
    /// The longest pause while nothing comes back.
    private static let longestPause: TimeInterval = 60
    /// A stream that began longer ago is no news when it is first seen, as at the first start of all.
    private static let maximumAge: TimeInterval = 900
    /// How long the beginning of a stream may be missing before the time when it was first seen stands for it.
    private static let gracePeriod: TimeInterval = 8
    private static let retention: TimeInterval = 30 * 86_400

    let source: BroadcastSource
    let database: PostgresPool
    let events: EventOutbox
    let logger: Logger
    let now: @Sendable () -> Date

    /// Asks if it is time and nobody else does.
    func round() async throws {
        let begin = now()
        let store = BroadcastStore(db: database)
        let next = begin.addingTimeInterval(Self.interval)
        let latest = begin.addingTimeInterval(2 * Self.longestPause)
        guard let round = try await store.claimRound(at: begin, next: next, latest: latest) else { return }
        let found: [Broadcast]
        do {
            found = try await source.live()
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            Self.count("failed")
            let pause = min(Self.longestPause, Self.interval * Double(1 << min(round.failures, 4)))
            try await store.fail(round, next: begin.addingTimeInterval(pause))
            logger.notice("broadcasts not answered", metadata: ["reason": "\(Self.reason(error))"])
            return
        }
        Self.count("answered")
        try await save(found, of: round)
    }

    private func save(_ found: [Broadcast], of round: PollRound) async throws {
        let distinct = Dictionary(found.map { ($0.id, $0) }) { first, _ in first }
        let broadcasts = distinct.values.sorted { $0.id < $1.id }
        let time = now()
        let notified = try await database.transaction { db in
            let store = BroadcastStore(db: db)
            guard try await store.finish(round, at: time) else { return 0 }
            try await store.replace(with: broadcasts, at: time)
            let communities = broadcasts.filter { !$0.community.isEmpty }
                .map { BroadcastCommunity(name: $0.community, icon: $0.communityIcon) }
            let named = Dictionary(communities.map { ($0.name.lowercased(), $0) }) { $1.icon == nil ? $0 : $1 }
            try await BroadcastCommunityStore(db: db).upsert(named.sorted { $0.key < $1.key }.map(\.value))
            return try await markNotified(broadcasts, in: db, at: time)
        }
        if notified > 0 { Counter(label: "roost_social_broadcasts_notified_total").increment(by: notified) }
    }

    /// Writes an event for each stream that is new; answers how many.
    private func markNotified(_ broadcasts: [Broadcast], in db: PostgresTransaction, at time: Date) async throws -> Int
    {
        let store = BroadcastStore(db: db)
        let seen = try await store.awaitingNotification()
        var decided: [String] = []
        var newBroadcasts: [String: BroadcastLive] = [:]
        for broadcast in broadcasts where broadcast.state == .live {
            guard let firstSeen = seen[broadcast.id] else { continue }
            // It is there before Reddit says when it began, or whose it is.
            let isLate = time.timeIntervalSince(firstSeen) >= Self.gracePeriod
            guard let began = broadcast.startedAt ?? (isLate ? firstSeen : nil) else { continue }
            guard let broadcaster = broadcast.broadcaster else {
                if isLate { decided.append(broadcast.id) }
                continue
            }
            decided.append(broadcast.id)
            guard firstSeen.timeIntervalSince(began) <= Self.maximumAge else { continue }
            newBroadcasts[broadcast.id] = BroadcastLive(
                streamId: broadcast.id,
                broadcaster: broadcaster,
                title: broadcast.title,
                url: broadcast.url,
                community: broadcast.community.isEmpty ? nil : broadcast.community,
                image: broadcast.thumbnail,
                startedAt: began
            )
        }
        guard !decided.isEmpty else { return 0 }
        let notified = try await store.markNotified(decided, at: time).compactMap { newBroadcasts[$0] }
        try await events.write(notified.sorted { ($0.startedAt, $0.streamId) < ($1.startedAt, $1.streamId) }, in: db)
        return notified.count
    }

    func sweep() async throws {
        try await BroadcastStore(db: database).sweep(seenBefore: now().addingTimeInterval(-Self.retention))
    }

    private static func reason(_ error: any Error) -> String {
        switch error {
        case let failure as BroadcastSource.Failure: failure.reason
        case let failure as NetworkHTTPFailure: failure.error(isWrite: false).reason
        default: "\(type(of: error))"
        }
    }

    private static func count(_ outcome: String) {
        Counter(label: "roost_social_broadcast_polls_total", dimensions: [("outcome", outcome)]).increment()
    }
}
