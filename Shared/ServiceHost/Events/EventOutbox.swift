import Foundation
package import Postgres
package import Wire

/// Keeps what happened until everyone who subscribes to it has taken it.
///
/// An event is written in the transaction that makes it so, hence it is told if and only if it is so. Nothing is kept for
/// nobody: who subscribes hears what happens from the next start of the service on.
package struct EventOutbox: Sendable {
    private let subscribers: EventSubscribers
    private let now: @Sendable () -> Date

    init(subscribers: EventSubscribers, now: @escaping @Sendable () -> Date) {
        self.subscribers = subscribers
        self.now = now
    }

    /// One that nobody subscribes to.
    package static let none = EventOutbox(subscribers: .none) { Date() }

    /// The table, for a service that tells others something; `name` is its place among the service's own migrations.
    package static func migration(_ name: String) -> Migration {
        Migration(name: name, sql: PackageResources.event_outbox_sql)
    }

    /// The services that are told of events of one type, by name.
    package func subscribers<Content: EventContent>(of type: Content.Type) -> [String] { subscribers.of(type.type) }

    /// Writes an event for each of its subscribers.
    package func write<Content: EventContent>(_ content: Content, in db: any PostgresExecutor) async throws {
        try await write([content], in: db)
    }

    /// Writes events in their order, each for all of its subscribers.
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
