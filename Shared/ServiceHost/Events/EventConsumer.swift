package import Foundation
import Hummingbird
package import Logging
package import Postgres
package import ServiceLifecycle
package import Wire

/// The receiver of other services' events at `POST /internal/events`; processes each event once.
///
/// The transaction that processes an event also records its id. A repeated event has no effect, and a failed one is
/// delivered again.
package struct EventConsumer: Sendable {
    /// The retention of processed event ids in seconds: 60 days, twice the time for which publishers retry.
    private static let retention: TimeInterval = 60 * 86_400

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

    /// Returns the migration that creates the table; `name` orders it among the service's own migrations.
    package static func migration(_ name: String) -> Migration {
        Migration(name: name, sql: PackageResources.event_inbox_sql)
    }

    /// Adds a handler for events of one type.
    ///
    /// The handler runs in the transaction that records the event as processed.
    ///
    /// - Parameters:
    ///   - type: the content of the events.
    ///   - publishers: the services that may send events of this type.
    ///   - action: processes an event in the given transaction.
    /// - Returns: a consumer with this handler added.
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
                throw APIError(.forbidden, "caller_not_allowed", "this service may not send events of this type")
            }
            try await take(event)
            return JSONResponse(["success": true])
        }
    }

    /// Processes an event unless it was processed before.
    ///
    /// - Throws: `unknown_event` (422) if this service does not handle the type. A newer release may handle it, so the
    ///   publisher keeps the event.
    package func take(_ event: Event) async throws {
        guard let action = actions[event.type] else {
            let message = "this service does not process events of this type"
            throw APIError(.unprocessable, "unknown_event", message, field: "type")
        }
        try await database.transaction { db in
            guard try await EventInboxStore(db: db).insert(event.id, at: now()) else { return }
            try await action(event, db)
        }
    }

    /// The periodic deletion of ids of old events.
    package var background: any Service {
        PeriodicTask("event inbox cleanup", every: .seconds(3_600), logger: logger) {
            try await EventInboxStore(db: database).delete(takenBefore: now().addingTimeInterval(-Self.retention))
        }
    }
}

/// The table `event_inbox`.
struct EventInboxStore {
    let db: any PostgresExecutor

    /// Inserts an event's id; returns false if the event was already processed.
    ///
    /// A concurrent transaction with the same event waits for the outcome of the first.
    func insert(_ event: UUID, at now: Date) async throws -> Bool {
        try await db.run(
            "INSERT INTO event_inbox (event_id, taken_at) VALUES (\(event), \(now)) ON CONFLICT DO NOTHING"
        ) == 1
    }

    func delete(takenBefore date: Date) async throws {
        try await db.run("DELETE FROM event_inbox WHERE taken_at < \(date)")
    }
}
