import Credentials
import Postgres
import PushAPI
import ServiceHost
import ServiceLifecycle
import Wire

/// Tells others what happens: those who listen at once, those who are away through push.
struct Live: Sendable {
    private let log: ChangeLog
    private let listeners: Listeners
    private let handOvers: HandOvers?
    let settings: LiveConfiguration
    private let people: People
    private let database: PostgresPool
    private let tidings: PhotoTidings
    private let hasEnded: @Sendable (_ session: String) -> Bool
    private let own: [any Service]

    // Where there is no push, nobody is told what happens while he is away.
    init(
        _ settings: LiveConfiguration,
        people: People,
        links: MediaLinks,
        push: PushClient?,
        _ resources: ServiceResources
    ) async throws {
        self.settings = settings
        self.people = people
        database = resources.database
        tidings = PhotoTidings(database: database, links: links)
        let listeners = Listeners(capacity: settings.maximumStreams, ofUser: settings.maximumStreamsOfUser)
        self.listeners = listeners
        log = ChangeLog(
            database: database,
            bus: try await settings.bus(over: database, logger: resources.logger),
            listeners: listeners,
            retention: settings.retention,
            logger: resources.logger,
            now: resources.now
        )
        hasEnded = resources.credentials.hasEnded
        resources.credentials.onRevocation { [weak listeners] in listeners?.end(session: $0) }
        let (silence, logger) = (settings.heartbeat, resources.logger)
        let relay = push.map { push in
            NewsRelay(
                database: resources.database,
                push: push,
                links: links,
                pause: settings.newsPause,
                events: resources.events,
                setAside: resources.setAside,
                logger: logger
            )
        }
        handOvers = relay.map { HandOvers(to: "push", [$0.round], logger: logger) }
        let retention = push == nil ? 0 : settings.newsRetention
        let sweep = NewsSweep(database: database, retention: retention, logger: logger, now: resources.now)
        own =
            [
                Periodic("heartbeat of streams", every: .seconds(1), logger: logger) { listeners.beat(after: silence) },
                Periodic("sweep of news", every: .seconds(60), logger: logger, sweep.sweep),
            ] + (relay?.upkeep ?? [])
    }

    var upkeep: [any Service] { log.upkeep + own + (handOvers?.upkeep ?? []) }

    /// There may be something new: a request that may have changed something is done.
    func ring() {
        log.ring()
        handOvers?.ring()
    }

    /// A stream for somebody signed in, from the event on that he says he had last.
    ///
    /// - Throws: `invalid` for what no stream has ever said; `post_not_found` for a post that the user does not see;
    ///   `unavailable` where there are as many streams as there may be.
    func stream(
        _ scope: ChangeScope,
        for identity: Identity,
        after lastEvent: String?
    ) async throws -> PhotoStream {
        let mark = try lastEvent.flatMap { $0.isEmpty ? nil : $0 }.map { text in
            guard let mark = ChangeMark(text) else {
                throw APIError.invalid("Last-Event-ID", "no event of a stream has this id", code: "invalid_event_id")
            }
            return mark
        }
        let person = try await people.person(for: identity.user)
        if case .post(let post) = scope, try await !tidings.isVisible(post, to: person.id) { throw Posts.notFound }
        let listener = try listeners.add(identity.user, session: identity.session)
        // One that ended before it was here to be ended.
        if hasEnded(identity.session) { listener.end() }
        return PhotoStream(
            listener,
            of: person.id,
            scope,
            after: mark,
            database: database,
            tidings: tidings,
            close: { [listeners] in listeners.remove(listener) }
        )
    }
}
