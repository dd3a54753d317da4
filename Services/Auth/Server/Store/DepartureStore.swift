import AuthAPI
import Foundation
import Postgres
import ServiceHost
import Wire

/// The tables `departures` and `departure_services`.
struct DepartureStore {
    /// Stands for all users of a deleted application; no user has this id, since an id has at least one character.
    static let everyUser = ""

    let db: any PostgresExecutor

    /// Somebody who goes.
    struct Record: Sendable {
        var departure: Departure
        var user: User.ID
        var begunAt: Date
        var nextRoundAt: Date?

        /// Whether the application itself was deleted.
        var isOfApplication: Bool { user.user == DepartureStore.everyUser }
    }

    /// How much is waited for, and since when.
    struct Lag: Sendable {
        var departures: Int
        var oldest: Date?
    }

    func insert(_ record: Record, awaiting services: [String]) async throws {
        try await db.run(
            """
            INSERT INTO departures (departure_id, application_id, user_id, begun_at, round, next_round_at)
            VALUES (
                \(record.departure.id), \(record.user.application), \(record.user.user), \(record.begunAt),
                \(record.departure.round), \(record.nextRoundAt)
            )
            """
        )
        try await wait(for: services, record.departure.id)
    }

    /// Locks one that all have answered and whose next round is due, or that has none; the oldest that nobody else has.
    func lockAnswered(at now: Date) async throws -> Record? {
        try await db.first(
            """
            SELECT departure_id, application_id, user_id, begun_at, round, next_round_at FROM departures
            WHERE (next_round_at IS NULL OR next_round_at <= \(now)) AND \(isDue: .departure, at: now)
                AND NOT EXISTS (
                    SELECT FROM departure_services
                    WHERE departure_services.departure_id = departures.departure_id
                )
            ORDER BY begun_at
            LIMIT 1
            FOR UPDATE SKIP LOCKED
            """,
            as: Record.init(row:)
        )
    }

    /// Begins the last round.
    func askAgain(_ departure: Departure, awaiting services: [String]) async throws {
        try await db.run(
            """
            UPDATE departures SET round = \(departure.round), next_round_at = NULL
            WHERE departure_id = \(departure.id)
            """
        )
        try await wait(for: services, departure.id)
    }

    /// Takes an answer; one to an earlier round changes nothing.
    func note(answerOf service: String, to departure: Departure) async throws {
        try await db.run(
            """
            DELETE FROM departure_services USING departures
            WHERE departure_services.departure_id = \(departure.id) AND departure_services.service = \(service)
                AND departures.departure_id = departure_services.departure_id
                AND departures.round = \(departure.round)
            """
        )
    }

    /// Whether services still have to answer about an application or a user of it.
    func isPending(_ application: String) async throws -> Bool {
        try await db.one(
            "SELECT EXISTS (SELECT FROM departures WHERE application_id = \(application)) AS is_pending"
        ) { try $0.bool("is_pending") }
    }

    func delete(_ id: UUID) async throws {
        try await db.run("DELETE FROM departures WHERE departure_id = \(id)")
    }

    func lag() async throws -> Lag {
        try await db.one("SELECT count(*) AS departures, min(begun_at) AS oldest FROM departures") { row in
            Lag(departures: try row.int("departures"), oldest: try row.optionalDate("oldest"))
        }
    }

    /// Those that are waited for longest, with whom they wait for.
    func list(limit: Int) async throws -> [PendingDeparture] {
        try await db.all(
            """
            SELECT departure_id, begun_at, round, ARRAY(
                SELECT service FROM departure_services
                WHERE departure_services.departure_id = departures.departure_id ORDER BY service
            ) AS services
            FROM departures
            ORDER BY begun_at, departure_id
            LIMIT \(limit)
            """
        ) { row in
            PendingDeparture(
                departureId: try row.uuid("departure_id").wire,
                begunAt: try row.date("begun_at"),
                round: try row.int("round"),
                waitsFor: try row.decode("services", as: [String].self)
            )
        }
    }

    private func wait(for services: [String], _ id: UUID) async throws {
        try await db.run(
            """
            INSERT INTO departure_services (departure_id, service)
            SELECT \(id), service FROM unnest(\(services)) AS service
            """
        )
    }
}

extension SetAsideKind {
    /// A deleted user for whom the other services' answers are awaited.
    static let departure = SetAsideKind(
        "deletion_job",
        table: "departures",
        key: ["departure_id": "uuid"],
        dropping: .keep
    )
}

extension DepartureStore.Record {
    fileprivate init(row: PostgresRow) throws {
        self.init(
            departure: Departure(id: try row.uuid("departure_id"), round: try row.int("round")),
            user: User.ID(application: try row.string("application_id"), user: try row.string("user_id")),
            begunAt: try row.date("begun_at"),
            nextRoundAt: try row.optionalDate("next_round_at")
        )
    }
}
