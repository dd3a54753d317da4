import Foundation
import Logging
import Metrics
import Postgres
import PushAPI
import ServiceHost
import SocialAPI

/// Polls the live broadcasts, once for all users and instances, and publishes each new stream once.
///
/// The instance that sets the time of the next poll runs this one. The broadcasts, the notified marks and the events
/// for push are written in one transaction. Push ignores an event or a stream that it receives again.
struct BroadcastPoller: Sendable {
    /// The time from one poll to the next, in seconds.
    static let interval: TimeInterval = 5
    /// The longest pause after failed polls, in seconds.
    private static let longestPause: TimeInterval = 60
    /// The maximum age of a new stream, in seconds; an older one is not published, such as after the very first start.
    private static let maximumAge: TimeInterval = 900
    /// The time in which Reddit may add a stream's start, in seconds; then the time of the first poll with it is used.
    private static let gracePeriod: TimeInterval = 8
    private static let retention: TimeInterval = 30 * 86_400

    let source: BroadcastSource
    let database: PostgresPool
    let events: EventOutbox
    let logger: Logger
    let now: @Sendable () -> Date

    /// Polls if a poll is due and no other instance has claimed it.
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
            logger.notice("poll of broadcasts failed", metadata: ["reason": "\(Self.reason(error))"])
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

    /// Writes an event for each new stream; returns the number of events.
    private func markNotified(_ broadcasts: [Broadcast], in db: PostgresTransaction, at time: Date) async throws -> Int
    {
        let store = BroadcastStore(db: db)
        let seen = try await store.awaitingNotification()
        var decided: [String] = []
        var newBroadcasts: [String: BroadcastLive] = [:]
        for broadcast in broadcasts where broadcast.state == .live {
            guard let firstSeen = seen[broadcast.id] else { continue }
            // Reddit lists a stream before it provides the start or the broadcaster.
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
