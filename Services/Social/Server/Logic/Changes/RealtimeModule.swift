import Credentials
import Foundation
import Locks
import Logging
import Postgres
import PushAPI
import ServiceHost
import ServiceLifecycle
import Wire

/// Delivers changes on users' networks: to open streams immediately, and to devices through push.
struct RealtimeModule: Sendable {
    /// The time that a user counts as present after the last confirmation of an open stream, in seconds.
    private static let presence: TimeInterval = 60
    /// The time from one confirmation to the next, in seconds.
    private static let confirmation: TimeInterval = 15

    let settings: RealtimeConfiguration
    let poller: Poller
    let webhooks: Webhooks
    private let subscribers: StreamSubscribers
    private let outboxWorker: OutboxWorker?
    private let streamConsumer: NetworkStreamConsumer
    private let database: PostgresPool
    private let now: @Sendable () -> Date
    private let hasEnded: @Sendable (_ session: String) -> Bool
    private let logger: Logger

    init(
        _ settings: RealtimeConfiguration,
        _ recording: ChangeRecording,
        sources: Sources,
        networkGateway: NetworkGateway,
        identities: Identities,
        _ resources: ServiceResources
    ) {
        self.settings = settings
        (database, logger, now) = (resources.database, resources.logger, resources.now)
        (subscribers, outboxWorker) = (recording.subscribers, recording.outboxWorker)
        let changeLog = recording.changeLog
        let senders = MessageSenders(database: database, sources: sources, networkGateway: networkGateway, now: now)
        poller = Poller(
            database: database,
            sources: sources,
            networkGateway: networkGateway,
            identities: identities,
            changeLog: changeLog,
            senders: senders,
            budgets: settings.pollsPerHour,
            setAside: resources.setAside,
            logger: logger,
            now: now
        )
        webhooks = Webhooks(
            database: database,
            connectors: sources.connectors,
            changeLog: changeLog,
            senders: senders,
            logger: logger,
            now: now
        )
        streamConsumer = NetworkStreamConsumer(
            sources: sources,
            changeLog: changeLog,
            subscribers: subscribers,
            logger: logger
        )
        hasEnded = resources.credentials.hasEnded
        resources.credentials.onRevocation { [weak subscribers] in subscribers?.end(session: $0) }
    }

    var maintenance: [any Service] {
        let heartbeat = settings.heartbeat
        return [
            streamConsumer,
            PeriodicTask("check for changes of other instances", every: .seconds(1), logger: logger, wakeSubscribers),
            PeriodicTask("heartbeat of streams", every: heartbeat, logger: logger) { [subscribers] in
                subscribers.sendHeartbeats()
            },
            PeriodicTask("sweep of changes", every: .seconds(60), logger: logger, sweep),
        ] + poller.maintenance + (outboxWorker?.maintenance ?? [])
    }

    /// Opens a stream for a signed-in user that starts after the client's last event.
    ///
    /// - Throws: `invalid_event_id` for an id that no stream has sent; `unavailable` if the maximum number of streams
    ///   is open.
    func stream(for identity: Identity, after lastEvent: String?) async throws -> SocialStream {
        let number = try lastEvent.flatMap { $0.isEmpty ? nil : $0 }.map { text in
            guard let number = SocialStream.number(text) else {
                throw APIError.invalid(
                    "Last-Event-ID",
                    "\"Last-Event-ID\" is not the id of a stream event",
                    code: "invalid_event_id"
                )
            }
            return number
        }
        try await PresenceStore(db: database)
            .confirmStreams(of: [identity.user], until: now().addingTimeInterval(Self.presence))
        try await PollStore(db: database).pollSoon(identity.user, now: now(), pause: Poller.pause)
        // From here on the stream is responsible for removing the subscriber.
        let subscriber = try subscribers.add(identity.user, session: identity.session)
        // The session may have ended before the subscriber was added.
        if hasEnded(identity.session) { subscriber.end() }
        return SocialStream(subscriber, after: number, database: database) { [subscribers] in
            subscribers.remove(subscriber)
        }
    }

    /// Wakes the subscribers with changes that other instances have recorded.
    private func wakeSubscribers() async throws {
        let users = subscribers.users
        guard !users.isEmpty else { return }
        try await confirmStreams(of: users)
        subscribers.wake(try await ChangeStore(db: database).lastNumbers(of: users))
    }

    /// Confirms that users have an open stream at this instance, so that their lists are polled without backoff.
    private func confirmStreams(of users: [User.ID]) async throws {
        let now = now()
        let isDue = subscribers.confirmedAt.withLock {
            $0.map { now.timeIntervalSince($0) >= Self.confirmation } ?? true
        }
        guard isDue else { return }
        try await PresenceStore(db: database).confirmStreams(of: users, until: now.addingTimeInterval(Self.presence))
        subscribers.confirmedAt.withLock { $0 = now }
    }

    private func sweep() async throws {
        try await ChangeStore(db: database).delete(before: now().addingTimeInterval(-settings.retention))
        try await webhooks.sweep()
        try await PresenceStore(db: database).delete(streamEndedBefore: now())
    }
}
