import Credentials
import Postgres
import PushAPI
import ServiceHost
import ServiceLifecycle
import Wire

/// Sends changes to the subscribers of event streams at once, and activity to users' devices through push.
struct LiveUpdates: Sendable {
    private let log: ChangeLog
    private let subscribers: StreamSubscribers
    private let outboxWorker: OutboxWorker?
    let settings: LiveUpdatesConfiguration
    private let people: People
    private let database: PostgresPool
    private let eventBuilder: StreamEventBuilder
    private let hasEnded: @Sendable (_ session: String) -> Bool
    private let periodicTasks: [any Service]

    init(
        _ settings: LiveUpdatesConfiguration,
        people: People,
        links: MediaLinks,
        push: PushClient?,
        _ resources: ServiceResources
    ) async throws {
        self.settings = settings
        self.people = people
        database = resources.database
        eventBuilder = StreamEventBuilder(database: database, links: links)
        let subscribers = StreamSubscribers(capacity: settings.maximumStreams, perUser: settings.maximumStreamsOfUser)
        self.subscribers = subscribers
        log = ChangeLog(
            database: database,
            bus: try await settings.bus(over: database, logger: resources.logger),
            subscribers: subscribers,
            retention: settings.retention,
            logger: resources.logger,
            now: resources.now
        )
        hasEnded = resources.credentials.hasEnded
        resources.credentials.onRevocation { [weak subscribers] in subscribers?.end(session: $0) }
        let (idleTime, logger) = (settings.heartbeat, resources.logger)
        let activityOutbox = push.map { push in
            ActivityOutbox(
                database: resources.database,
                push: push,
                links: links,
                digestInterval: settings.digestInterval,
                events: resources.events,
                setAside: resources.setAside,
                logger: logger
            )
        }
        outboxWorker = activityOutbox.map { OutboxWorker(to: "push", [$0.deliverBatch], logger: logger) }
        let retention = push == nil ? 0 : settings.activityRetention
        let retentionTask = ActivityRetention(
            database: database,
            retention: retention,
            logger: logger,
            now: resources.now
        )
        periodicTasks =
            [
                PeriodicTask("stream heartbeats", every: .seconds(1), logger: logger) {
                    subscribers.sendHeartbeats(after: idleTime)
                },
                PeriodicTask("retention of activity", every: .seconds(60), logger: logger, retentionTask.deleteExpired),
            ] + (activityOutbox?.maintenance ?? [])
    }

    var maintenance: [any Service] { log.maintenance + periodicTasks + (outboxWorker?.maintenance ?? []) }

    func notify() {
        log.notify()
        outboxWorker?.notify()
    }

    /// Opens a stream for a signed-in user, after the last event that the client received.
    ///
    /// - Throws: `invalid` for a malformed event id, `post_not_found` if the user does not see the post, or
    ///   `unavailable` if the instance has the maximum number of streams.
    func stream(
        _ scope: ChangeScope,
        for identity: Identity,
        after lastEvent: String?
    ) async throws -> PhotoStream {
        let eventID = try lastEvent.flatMap { $0.isEmpty ? nil : $0 }.map { text in
            guard let eventID = StreamEventID(text) else {
                let message = "\"Last-Event-ID\" must be the id of an event of a stream"
                throw APIError.invalid("Last-Event-ID", message, code: "invalid_event_id")
            }
            return eventID
        }
        let person = try await people.person(for: identity.user)
        if case .post(let post) = scope, try await !eventBuilder.isVisible(post, to: person.id) { throw Posts.notFound }
        let subscriber = try subscribers.add(identity.user, session: identity.session)
        // The session may have ended before the subscriber was added, and then the revocation did not reach it.
        if hasEnded(identity.session) { subscriber.end() }
        return PhotoStream(
            subscriber,
            of: person.id,
            scope,
            after: eventID,
            database: database,
            eventBuilder: eventBuilder,
            close: { [subscribers] in subscribers.remove(subscriber) }
        )
    }
}
