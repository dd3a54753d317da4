import Foundation
import Locks
import Postgres
import ServiceHost
import Wire

/// What somebody hears of posts as long as he listens, from a place in the changes on, in their order.
///
/// What he may hear of is judged when it is told, and a post is told as it is by then. Changes of a post that came together
/// are told as one, under the place of the last of them: whoever goes on from any place has missed nothing.
final class PhotoStream: StreamEventSource {
    /// From one reading to the next at least: what happens meanwhile is told together.
    private static let minimumInterval = Duration.milliseconds(100)
    /// While the database is away.
    private static let retryDelay = Duration.milliseconds(500)

    private enum Position {
        /// He has said nothing yet but where he wants to go on; nil: now.
        case requested(StreamEventID?)
        case at(StreamEventID)
    }

    private struct State {
        var position: Position
        var readAt: ContinuousClock.Instant?
        /// Whether the post of a comment stream was visible after the stream took its place.
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

    // Where the answer could not even be begun, nobody else says that nobody listens.
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
                // The record is away, and nothing of it is lost: he waits, rather than come back with all the others.
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
        // A place is told without an event, so that who was long without any may still go on from it.
        case (.at(let eventID), _): [StreamEvent(id: eventID.text)]
        }
    }

    /// The first word: where he is, or that what he asks for is not known any more.
    private func begin(after requested: StreamEventID?) async throws -> StreamEvent {
        // What happened while he was on his way is told by the first reading.
        defer { subscriber.wake(.changes) }
        guard let requested else { return .ready(try await moveToLast()) }
        guard try await isKnown(requested) else { return .reload(try await moveToLast(), because: .tooOld) }
        move(to: requested)
        return .ready(requested)
    }

    private func isKnown(_ eventID: StreamEventID) async throws -> Bool {
        let store = ChangeStore(db: database.reads)
        guard eventID == .none else {
            return try await store.eventID(at: eventID.changeNumber, in: application) == eventID
        }
        // He was here before anything had happened: is the first that did still kept?
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
        // Places have no gap, so what is missing was swept: he was slow, or the database away, for as long as that.
        guard first.eventID.changeNumber == eventID.changeNumber + 1 else { return [try await reloadFromLast()] }
        // Moving on before these events were made would lose them where the database fails meanwhile.
        let events = try await self.events(of: changes.filter(\.isVisible), at: last.eventID)
        move(to: last.eventID)
        // The end of a window is no end of what there is.
        if last.eventID.changeNumber - eventID.changeNumber >= Int64(ChangeFeed<PostgresReads>.window) {
            subscriber.wake(.changes)
        }
        return events
    }

    /// Returns what changes that the listener may hear of say; `eventID` is the last change that was read.
    private func events(of visible: [NumberedChange], at eventID: StreamEventID) async throws -> [StreamEvent] {
        let isHomeChanged = visible.contains { $0.kind == .home }
        guard case .post(let post) = scope else {
            if isHomeChanged { return [.reload(eventID, because: .homeChanged)] }
            return try await eventBuilder.events(of: visible, for: person)
        }
        // The post may have been deleted before the stream took its place, and then no change says so.
        if visible.isEmpty, state.withLock(\.hasSeenPost) { return [] }
        guard let events = try await eventBuilder.events(of: visible, on: post, for: person) else {
            subscriber.end()
            return [try .gone(post, eventID)]
        }
        state.withLock { $0.hasSeenPost = true }
        return isHomeChanged ? [.reload(eventID, because: .homeChanged)] : events
    }

    /// There is nothing behind a place, if it is the last one that was given.
    private func checkForGap(after eventID: StreamEventID) async throws -> [StreamEvent] {
        let store = ChangeStore(db: database.reads)
        let last = try await store.lastEventIDs(of: [application])[application] ?? .none
        guard last.changeNumber != eventID.changeNumber else { return [] }
        if last.changeNumber > eventID.changeNumber,
            try await store.eventID(at: eventID.changeNumber + 1, in: application) != nil
        {
            // It has come between the two statements.
            subscriber.wake(.changes)
            return []
        }
        return [try await reloadFromLast()]
    }

    private func reloadFromLast() async throws -> StreamEvent {
        let eventID = try await moveToLast()
        // A comment stream has to look at its post again.
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
