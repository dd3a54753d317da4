import Credentials
import Foundation
import Locks
import Logging
import Postgres
import PushAPI
import ServiceHost
import ServiceLifecycle
import Wire

/// Tells people what changes on their networks: those who listen at once, those who are away through push.
struct Live: Sendable {
    /// How long a user counts as present after the last confirmation of an open stream, in seconds.
    private static let presence: TimeInterval = 60
    /// From one confirmation to the next, in seconds.
    private static let confirmation: TimeInterval = 15

    let settings: LiveConfiguration
    let looking: Looking
    let webhooks: Webhooks
    private let listeners: StreamListeners
    private let handOvers: HandOvers?
    private let following: Following
    private let database: PostgresPool
    private let now: @Sendable () -> Date
    private let hasEnded: @Sendable (_ session: String) -> Bool
    private let logger: Logger

    init(
        _ settings: LiveConfiguration,
        _ recording: ChangeRecording,
        sources: Sources,
        asking: Asking,
        identities: Identities,
        _ resources: ServiceResources
    ) {
        self.settings = settings
        (database, logger, now) = (resources.database, resources.logger, resources.now)
        (listeners, handOvers) = (recording.listeners, recording.handOvers)
        let journal = recording.journal
        let senders = MessageSenders(database: database, sources: sources, asking: asking, now: now)
        looking = Looking(
            database: database,
            sources: sources,
            asking: asking,
            identities: identities,
            journal: journal,
            senders: senders,
            budgets: settings.looks,
            setAside: resources.setAside,
            logger: logger,
            now: now
        )
        webhooks = Webhooks(
            database: database,
            connectors: sources.connectors,
            journal: journal,
            senders: senders,
            logger: logger,
            now: now
        )
        following = Following(sources: sources, journal: journal, listeners: listeners, logger: logger)
        hasEnded = resources.credentials.hasEnded
        resources.credentials.onRevocation { [weak listeners] in listeners?.end(session: $0) }
    }

    var upkeep: [any Service] {
        let silence = settings.heartbeat
        return [
            following,
            Periodic("look for what others wrote down", every: .seconds(1), logger: logger, listen),
            Periodic("heartbeat of streams", every: silence, logger: logger) { [listeners] in listeners.beat() },
            Periodic("sweep of changes", every: .seconds(60), logger: logger, sweep),
        ] + looking.upkeep + (handOvers?.upkeep ?? [])
    }

    /// A stream for somebody signed in, from the event on that he says he had last.
    ///
    /// - Throws: `invalid` for what no stream has ever said; `unavailable` where there are as many streams as there may be.
    func stream(for identity: Identity, after lastEvent: String?) async throws -> SocialStream {
        let place = try lastEvent.flatMap { $0.isEmpty ? nil : $0 }.map { text in
            guard let place = SocialStream.place(text) else {
                throw APIError.invalid("Last-Event-ID", "no event of a stream has this id", code: "invalid_event_id")
            }
            return place
        }
        try await PresenceStore(db: database)
            .confirmStreams(of: [identity.user], until: now().addingTimeInterval(Self.presence))
        try await WatchStore(db: database).hurry(identity.user, now: now(), pause: Looking.pause)
        // From here on the stream gives the place back.
        let listener = try listeners.add(identity.user, session: identity.session)
        // One that ended before it was here to be ended.
        if hasEnded(identity.session) { listener.end() }
        return SocialStream(listener, after: place, database: database) { [listeners] in listeners.remove(listener) }
    }

    /// What other instances have written down for those who listen here.
    private func listen() async throws {
        let users = listeners.users
        guard !users.isEmpty else { return }
        try await confirmStreams(of: users)
        listeners.wake(try await JournalStore(db: database).lastPlaces(of: users))
    }

    /// Confirms that users have an open stream at this instance, so that their lists are polled without backoff.
    private func confirmStreams(of users: [User.ID]) async throws {
        let now = now()
        let isDue = listeners.confirmedAt.withLock { $0.map { now.timeIntervalSince($0) >= Self.confirmation } ?? true }
        guard isDue else { return }
        try await PresenceStore(db: database).confirmStreams(of: users, until: now.addingTimeInterval(Self.presence))
        listeners.confirmedAt.withLock { $0 = now }
    }

    private func sweep() async throws {
        try await JournalStore(db: database).delete(before: now().addingTimeInterval(-settings.retention))
        try await webhooks.sweep()
        try await PresenceStore(db: database).delete(streamEndedBefore: now())
    }
}
