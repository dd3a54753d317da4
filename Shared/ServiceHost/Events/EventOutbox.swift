import Foundation
package import Postgres
package import Wire

/// The outbox of events, which stores each event until every subscriber has processed it.
///
/// An event is written in the transaction that makes the change, so it is delivered if and only if the change is
/// committed. Events are stored only for existing subscribers. A new subscriber receives events from the next start of
/// the service on.
package struct EventOutbox: Sendable {
    private let subscribers: EventSubscribers
    private let now: @Sendable () -> Date

    init(subscribers: EventSubscribers, now: @escaping @Sendable () -> Date) {
        self.subscribers = subscribers
        self.now = now
    }

    /// An outbox without subscribers.
    package static let none = EventOutbox(subscribers: .none) { Date() }

    /// Returns the migration that creates the table; `name` orders it among the service's own migrations.
    package static func migration(_ name: String) -> Migration {
        Migration(name: name, sql: PackageResources.event_outbox_sql)
    }

    /// Returns the names of the services that subscribe to events of a type.
    package func subscribers<Content: EventContent>(of type: Content.Type) -> [String] { subscribers.of(type.type) }

    /// Writes an event for each of its subscribers.
    package func write<Content: EventContent>(_ content: Content, in db: any PostgresExecutor) async throws {
        try await write([content], in: db)
    }

    /// Writes events in order, each for all of its subscribers.
    package func write<Content: EventContent>(_ contents: [Content], in db: any PostgresExecutor) async throws {
        let names = subscribers.of(Content.type)
        guard !names.isEmpty, !contents.isEmpty else { return }
        let encoder = WireJSON.encoder(sortedKeys: true)
        try await EventOutboxStore(db: db).insert(
            type: Content.type,
            for: names,
            at: now(),
            events: try contents.map { content in
                (id: UUID(), key: content.key, content: String(decoding: try encoder.encode(content), as: UTF8.self))
            }
        )
    }
}
