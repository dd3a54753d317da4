import Foundation
import Postgres
import Wire

/// The tables `noted_changes`, `changes` and `change_marks`: what happened to posts, in an order that holds.
struct ChangeStore<Executor: PostgresExecutor> {
    let db: Executor

    func note(_ kind: PhotoChange.Kind, of posts: [PostKey]) async throws {
        try await db.run(
            """
            INSERT INTO noted_changes (application_id, kind, author_id, number)
            SELECT people.application_id, \(kind.rawValue), noted.author_id, noted.number
            FROM unnest(\(posts.map(\.author.rawValue)), \(posts.map(\.number)))
                WITH ORDINALITY AS noted (author_id, number, place)
            JOIN people ON people.person_id = noted.author_id
            ORDER BY noted.place
            """
        )
    }

    func note(_ kind: PhotoChange.Kind, of comment: CommentKey) async throws {
        try await db.run(
            """
            INSERT INTO noted_changes (application_id, kind, author_id, number, comment_id)
            SELECT application_id, \(kind.rawValue), person_id, \(comment.post.number), \(comment.number)
            FROM people WHERE person_id = \(comment.post.author)
            """
        )
    }

    /// The name by which instances find each other.
    func busName() async throws -> String {
        try await db.one("SELECT name FROM bus", as: { try $0.string("name") })
    }

    /// How far each of these applications has come; nothing of one in which nothing ever happened.
    func marks(of applications: [String]) async throws -> [String: ChangeMark] {
        let found = try await db.all(
            """
            SELECT application_id, last_place, last_at FROM change_marks
            WHERE application_id = ANY (\(applications))
            """
        ) { row in (try row.string("application_id"), try ChangeMark(row: row)) }
        return Dictionary(found) { first, _ in first }
    }

    /// The mark at a place that was given; nil where it is not known any more, or never was.
    func mark(at place: Int64, in application: String) async throws -> ChangeMark? {
        try await db.first(
            """
            SELECT place AS last_place, placed_at AS last_at FROM changes
            WHERE application_id = \(application) AND place = \(place)
            UNION
            SELECT last_place, last_at FROM change_marks
            WHERE application_id = \(application) AND last_place = \(place)
            """,
            as: ChangeMark.init(row:)
        )
    }

    /// Forgets what was given its place before `moment`, some of it; returns how many.
    func delete(placedBefore moment: Date, limit: Int) async throws -> Int {
        try await db.run(
            """
            DELETE FROM changes WHERE (application_id, place) IN (
                SELECT application_id, place FROM changes WHERE placed_at < \(moment) ORDER BY placed_at LIMIT \(limit)
            )
            """
        )
    }
}

/// A place in the changes of an application.
///
/// The time tells it from the same place of a database that was brought back from a backup.
struct ChangeMark: Hashable, Sendable {
    let place: Int64
    /// Milliseconds since 1970.
    let at: Int64

    /// Before the first.
    static let none = ChangeMark(place: 0, at: 0)

    init(place: Int64, at: Int64) {
        self.place = place
        self.at = at
    }

    /// As an event's id says it; nil for what is none.
    init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let place = Int64(parts[0]), place >= 0, let at = Int64(parts[1], radix: 36), at >= 0
        else { return nil }
        self.init(place: place, at: at)
    }

    var text: String { "\(place)-\(String(at, radix: 36))" }
}

extension ChangeMark {
    fileprivate init(row: PostgresRow) throws {
        self.init(place: try row.int64("last_place"), at: try row.date("last_at"))
    }

    init(place: Int64, at: Date) {
        self.init(place: place, at: Int64((at.timeIntervalSince1970 * 1_000).rounded()))
    }
}
