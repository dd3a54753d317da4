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
    private static let pace = Duration.milliseconds(100)
    /// While the database is away.
    private static let rest = Duration.milliseconds(500)

    private enum Place {
        /// He has said nothing yet but where he wants to go on; nil: now.
        case asked(ChangeMark?)
        case at(ChangeMark)
    }

    private struct State {
        var place: Place
        var readAt: ContinuousClock.Instant?
        /// Whether the post of a comment stream was visible after the stream took its place.
        var hasSeenPost = false
    }

    private let listener: Listener
    private let person: Person.ID
    private let scope: ChangeScope
    private let database: PostgresPool
    private let tidings: PhotoTidings
    private let close: @Sendable () -> Void
    private let state: Lock<State>

    init(
        _ listener: Listener,
        of person: Person.ID,
        _ scope: ChangeScope,
        after mark: ChangeMark?,
        database: PostgresPool,
        tidings: PhotoTidings,
        close: @escaping @Sendable () -> Void
    ) {
        self.listener = listener
        self.person = person
        self.scope = scope
        self.database = database
        self.tidings = tidings
        self.close = close
        state = Lock(State(place: .asked(mark)))
    }

    // Where the answer could not even be begun, nobody else says that nobody listens.
    deinit { close() }

    func end() { close() }

    func next() async throws -> [StreamEvent]? {
        while true {
            let wake = await listener.next()
            guard wake != .end else { return nil }
            let events: [StreamEvent]
            do {
                events = try await self.events(wake)
            } catch let error as PostgresError where error.isUnavailable {
                // The record is away, and nothing of it is lost: he waits, rather than come back with all the others.
                try await ContinuousClock().sleep(for: Self.rest)
                listener.wake(.news)
                continue
            }
            guard !events.isEmpty else { continue }
            listener.spoke()
            return events
        }
    }

    private func events(_ wake: Listener.Wake) async throws -> [StreamEvent] {
        switch (state.withLock(\.place), wake) {
        case (.asked(let mark), _): [try await begin(after: mark)]
        case (.at(let mark), .news): try await read(after: mark)
        // A place is told without an event, so that who was long without any may still go on from it.
        case (.at(let mark), _): [StreamEvent(id: mark.text)]
        }
    }

    /// The first word: where he is, or that what he asks for is not known any more.
    private func begin(after asked: ChangeMark?) async throws -> StreamEvent {
        // What happened while he was on his way is told by the first reading.
        defer { listener.wake(.news) }
        guard let asked else { return .ready(try await moveToLast()) }
        guard try await isKnown(asked) else { return .reload(try await moveToLast(), because: .tooOld) }
        move(to: asked)
        return .ready(asked)
    }

    private func isKnown(_ mark: ChangeMark) async throws -> Bool {
        let store = ChangeStore(db: database.reads)
        guard mark == .none else { return try await store.mark(at: mark.place, in: application) == mark }
        // He was here before anything had happened: is the first that did still kept?
        if try await store.mark(at: 1, in: application) != nil { return true }
        return try await store.marks(of: [application]).isEmpty
    }

    private func read(after mark: ChangeMark) async throws -> [StreamEvent] {
        try await keepPace()
        let feed = ChangeFeed(db: database.reads)
        let changes = try await feed.changes(after: mark.place, in: application, for: person, scope: scope)
        guard let first = changes.first, let last = changes.last else {
            let events = try await look(behind: mark)
            guard events.isEmpty else { return events }
            return try await self.events(of: [], at: mark)
        }
        // Places have no gap, so what is missing was swept: he was slow, or the database away, for as long as that.
        guard first.mark.place == mark.place + 1 else { return [try await reloadFromLast()] }
        // Moving on before these events were made would lose them where the database fails meanwhile.
        let events = try await self.events(of: changes.filter(\.isHeard), at: last.mark)
        move(to: last.mark)
        // The end of a window is no end of what there is.
        if last.mark.place - mark.place >= Int64(ChangeFeed<PostgresReads>.window) { listener.wake(.news) }
        return events
    }

    /// Returns what changes that the listener may hear of say; `mark` is the last change that was read.
    private func events(of heard: [PlacedChange], at mark: ChangeMark) async throws -> [StreamEvent] {
        let isHomeChanged = heard.contains { $0.kind == .home }
        guard case .post(let post) = scope else {
            if isHomeChanged { return [.reload(mark, because: .homeChanged)] }
            return try await tidings.events(of: heard, for: person)
        }
        // The post may have been deleted before the stream took its place, and then no change says so.
        if heard.isEmpty, state.withLock(\.hasSeenPost) { return [] }
        guard let events = try await tidings.events(of: heard, on: post, for: person) else {
            listener.end()
            return [try .gone(post, mark)]
        }
        state.withLock { $0.hasSeenPost = true }
        return isHomeChanged ? [.reload(mark, because: .homeChanged)] : events
    }

    /// There is nothing behind a place, if it is the last one that was given.
    private func look(behind mark: ChangeMark) async throws -> [StreamEvent] {
        let store = ChangeStore(db: database.reads)
        let last = try await store.marks(of: [application])[application] ?? .none
        guard last.place != mark.place else { return [] }
        if last.place > mark.place, try await store.mark(at: mark.place + 1, in: application) != nil {
            // It has come between the two statements.
            listener.wake(.news)
            return []
        }
        return [try await reloadFromLast()]
    }

    private func reloadFromLast() async throws -> StreamEvent {
        let mark = try await moveToLast()
        // A comment stream has to look at its post again.
        listener.wake(.news)
        return .reload(mark, because: .tooOld)
    }

    private func moveToLast() async throws -> ChangeMark {
        let mark = try await ChangeStore(db: database.reads).marks(of: [application])[application] ?? .none
        state.withLock { $0.hasSeenPost = false }
        move(to: mark)
        return mark
    }

    private func move(to mark: ChangeMark) { state.withLock { $0.place = .at(mark) } }

    private func keepPace() async throws {
        if let readAt = state.withLock(\.readAt) { try await ContinuousClock().sleep(until: readAt + Self.pace) }
        state.withLock { $0.readAt = .now }
    }

    private var application: String { listener.user.application }
}
