import Foundation
import Locks
import Postgres
import ServiceHost
import Wire

/// The stream of post changes for one subscriber, in the order of change numbers.
///
/// Visibility is checked when an event is sent, and a post is sent as it is at that time. Several changes of a post
/// become one event with the number of the last one, so a client can resume from any event without missing a change.
final class PhotoStream: StreamEventSource {
    /// The minimum interval between two reads; changes in between are sent together.
    private static let minimumInterval = Duration.milliseconds(100)
    private static let retryDelay = Duration.milliseconds(500)

    private enum Position {
        /// The stream has not started; nil means that it starts after the last change.
        case requested(StreamEventID?)
        case at(StreamEventID)
    }

    private struct State {
        var position: Position
        var readAt: ContinuousClock.Instant?
        /// Whether the post of a comment stream was visible after the stream's position was set.
        var hasSeenPost = false
    }

    private let subscriber: StreamSubscriber
    private let person: Person.ID
    private let scope: ChangeScope
    private let database: PostgresPool
    private let eventBuilder: StreamEventBuilder
    private let close: @Sendable () -> Void
    private let state: Lock<State>

    init(
        _ subscriber: StreamSubscriber,
        of person: Person.ID,
        _ scope: ChangeScope,
        after eventID: StreamEventID?,
        database: PostgresPool,
        eventBuilder: StreamEventBuilder,
        close: @escaping @Sendable () -> Void
    ) {
        self.subscriber = subscriber
        self.person = person
        self.scope = scope
        self.database = database
        self.eventBuilder = eventBuilder
        self.close = close
        state = Lock(State(position: .requested(eventID)))
    }

    // If the response could not be started, `end()` is not called.
    deinit { close() }

    func end() { close() }

    func next() async throws -> [StreamEvent]? {
        while true {
            let wake = await subscriber.next()
            guard wake != .end else { return nil }
            let events: [StreamEvent]
            do {
                events = try await self.events(wake)
            } catch let error as PostgresError where error.isUnavailable {
                // The changes stay in the database: the stream waits, so that clients do not all reconnect at once.
                try await ContinuousClock().sleep(for: Self.retryDelay)
                subscriber.wake(.changes)
                continue
            }
            guard !events.isEmpty else { continue }
            subscriber.didSend()
            return events
        }
    }

    private func events(_ wake: StreamSubscriber.Wake) async throws -> [StreamEvent] {
        switch (state.withLock(\.position), wake) {
        case (.requested(let eventID), _): [try await begin(after: eventID)]
        case (.at(let eventID), .changes): try await read(after: eventID)
        // A heartbeat sends only the position, so that a client without recent events can still resume from it.
        case (.at(let eventID), _): [StreamEvent(id: eventID.text)]
        }
    }

    /// Returns the first event: `ready` with the position, or `reload` if the requested position is no longer stored.
    private func begin(after requested: StreamEventID?) async throws -> StreamEvent {
        // The first read sends what happened while the stream was being opened.
        defer { subscriber.wake(.changes) }
        guard let requested else { return .ready(try await moveToLast()) }
        guard try await isRetained(requested) else { return .reload(try await moveToLast(), because: .tooOld) }
        move(to: requested)
        return .ready(requested)
    }

    private func isRetained(_ eventID: StreamEventID) async throws -> Bool {
        let store = ChangeStore(db: database.reads)
        guard eventID == .none else {
            return try await store.eventID(at: eventID.changeNumber, in: application) == eventID
        }
        // The client connected before the first change: every change is still stored if the first one is.
        if try await store.eventID(at: 1, in: application) != nil { return true }
        return try await store.lastEventIDs(of: [application]).isEmpty
    }

    private func read(after eventID: StreamEventID) async throws -> [StreamEvent] {
        try await waitForInterval()
        let feed = ChangeFeed(db: database.reads)
        let changes = try await feed.changes(after: eventID.changeNumber, in: application, for: person, scope: scope)
        guard let first = changes.first, let last = changes.last else {
            let events = try await checkForGap(after: eventID)
            guard events.isEmpty else { return events }
            return try await self.events(of: [], at: eventID)
        }
        // Change numbers have no gaps, so a missing one has expired: the client was too slow, or the database was
        // unavailable.
        guard first.eventID.changeNumber == eventID.changeNumber + 1 else { return [try await reloadFromLast()] }
        // The position moves only after the events were built: a database failure in between would lose them.
        let events = try await self.events(of: changes.filter(\.isVisible), at: last.eventID)
        move(to: last.eventID)
        // A full window means that there may be more changes.
        if last.eventID.changeNumber - eventID.changeNumber >= Int64(ChangeFeed<PostgresReads>.window) {
            subscriber.wake(.changes)
        }
        return events
    }

    /// Returns the events of visible changes; `eventID` is the position of the last change that was read.
    private func events(of visible: [NumberedChange], at eventID: StreamEventID) async throws -> [StreamEvent] {
        let isHomeChanged = visible.contains { $0.kind == .home }
        guard case .post(let post) = scope else {
            if isHomeChanged { return [.reload(eventID, because: .homeChanged)] }
            return try await eventBuilder.events(of: visible, for: person)
        }
        // The post may have been deleted before the stream's position, and then no later change reports it.
        if visible.isEmpty, state.withLock(\.hasSeenPost) { return [] }
        guard let events = try await eventBuilder.events(of: visible, on: post, for: person) else {
            subscriber.end()
            return [try .gone(post, eventID)]
        }
        state.withLock { $0.hasSeenPost = true }
        return isHomeChanged ? [.reload(eventID, because: .homeChanged)] : events
    }

    /// Checks that an empty read means the end of the changes and not a gap.
    private func checkForGap(after eventID: StreamEventID) async throws -> [StreamEvent] {
        let store = ChangeStore(db: database.reads)
        let last = try await store.lastEventIDs(of: [application])[application] ?? .none
        guard last.changeNumber != eventID.changeNumber else { return [] }
        if last.changeNumber > eventID.changeNumber,
            try await store.eventID(at: eventID.changeNumber + 1, in: application) != nil
        {
            // A change was added between the two statements.
            subscriber.wake(.changes)
            return []
        }
        return [try await reloadFromLast()]
    }

    private func reloadFromLast() async throws -> StreamEvent {
        let eventID = try await moveToLast()
        // A comment stream must check the visibility of its post again.
        subscriber.wake(.changes)
        return .reload(eventID, because: .tooOld)
    }

    private func moveToLast() async throws -> StreamEventID {
        let eventID = try await ChangeStore(db: database.reads).lastEventIDs(of: [application])[application] ?? .none
        state.withLock { $0.hasSeenPost = false }
        move(to: eventID)
        return eventID
    }

    private func move(to eventID: StreamEventID) { state.withLock { $0.position = .at(eventID) } }

    private func waitForInterval() async throws {
        if let readAt = state.withLock(\.readAt) {
            try await ContinuousClock().sleep(until: readAt + Self.minimumInterval)
        }
        state.withLock { $0.readAt = .now }
    }

    private var application: String { subscriber.user.application }
}
