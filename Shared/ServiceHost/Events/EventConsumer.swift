package import Foundation
import Hummingbird
package import Logging
package import Postgres
package import ServiceLifecycle
package import Wire

/// Takes the events of other services, each once, at `POST /internal/events`.
///
/// That an event was taken is noted in the transaction that acts on it, so one that comes again does nothing, and one
/// whose action fails comes again.
package struct EventConsumer: Sendable {
    /// How long an event is known, in seconds: longer than anybody goes on telling it.
    private static let memory: TimeInterval = 60 * 86_400

    private typealias Action = @Sendable (Event, PostgresTransaction) async throws -> Void

    private let database: PostgresPool
    private let logger: Logger
    private let now: @Sendable () -> Date
    private var actions: [String: Action] = [:]
    private var publishers: [String: Set<InternalCaller>] = [:]

    package init(database: PostgresPool, logger: Logger, now: @escaping @Sendable () -> Date = { Date() }) {
        self.database = database
        self.logger = logger
        self.now = now
    }

    /// The table, for a service that hears others; `name` is its place among the service's own migrations.
    package static func migration(_ name: String) -> Migration {
        Migration(name: name, sql: PackageResources.event_inbox_sql)
    }

    /// Acts on the events of one type, in the transaction that records them as processed.
    ///
    /// - Parameters:
    ///   - type: the content of the events.
    ///   - publishers: the services that may send events of this type.
    ///   - action: what follows from an event; it runs in the transaction.
    /// - Returns: the consumer with this action added.
    package func on<Content: EventContent>(
        _ type: Content.Type,
        from publishers: Set<InternalCaller>,
        _ action: @escaping @Sendable (Content, Event, PostgresTransaction) async throws -> Void
    ) -> EventConsumer {
        var consumer = self
        consumer.publishers[type.type] = publishers
        consumer.actions[type.type] = { event, db in try await action(try event.content(), event, db) }
        return consumer
    }

    package func add(to routes: SuiteRoutes) {
        routes.internalRoutes(from: .services).post("events") { request, context in
            let event = try await request.decode(as: Event.self, context: context)
            if let allowed = publishers[event.type], !allowed.contains(where: { $0.rawValue == context.caller }) {
                throw APIError(.forbidden, "caller_not_allowed", "This service may not send events of this type.")
            }
            try await take(event)
            return JSONResponse(["success": true])
        }
    }

    /// - Throws: a 422 for a type that this service knows nothing of: it may be a newer release that does, so the event
    ///   waits where it is.
    package func take(_ event: Event) async throws {
        guard let action = actions[event.type] else {
            let message = "nothing is done here about this type of event"
            throw APIError(.unprocessable, "unknown_event", message, field: "type")
        }
        try await database.transaction { db in
            guard try await EventInboxStore(db: db).insert(event.id, at: now()) else { return }
            try await action(event, db)
        }
    }

    /// Forgets events that nobody tells any more.
    package var background: any Service {
        PeriodicTask("sweep of known events", every: .seconds(3_600), logger: logger) {
            try await EventInboxStore(db: database).delete(takenBefore: now().addingTimeInterval(-Self.memory))
        }
    }
}

/// The table `event_inbox`.
struct EventInboxStore {
    let db: any PostgresExecutor

    /// False if the event is known.
    ///
    /// Who notes the same one at the same time waits here for the outcome.
    func insert(_ event: UUID, at now: Date) async throws -> Bool {
        try await db.run(
            "INSERT INTO event_inbox (event_id, taken_at) VALUES (\(event), \(now)) ON CONFLICT DO NOTHING"
        ) == 1
    }

    func delete(takenBefore date: Date) async throws {
        try await db.run("DELETE FROM event_inbox WHERE taken_at < \(date)")
    }
}
