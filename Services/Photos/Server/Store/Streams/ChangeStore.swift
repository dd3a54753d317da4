import Foundation
import Postgres
import Wire

/// The tables `pending_changes`, `changes` and `change_counters`: changes of posts, pending and in numbered order.
struct ChangeStore<Executor: PostgresExecutor> {
    let db: Executor

    func record(_ kind: PhotoChange.Kind, of posts: [PostKey]) async throws {
        try await db.run(
            """
            INSERT INTO pending_changes (application_id, kind, author_id, number)
            SELECT people.application_id, \(kind.rawValue), given.author_id, given.number
            FROM unnest(\(posts.map(\.author.rawValue)), \(posts.map(\.number)))
                WITH ORDINALITY AS given (author_id, number, ordinal)
            JOIN people ON people.person_id = given.author_id
            ORDER BY given.ordinal
            """
        )
    }

    func record(_ kind: PhotoChange.Kind, of comment: CommentKey) async throws {
        try await db.run(
            """
            INSERT INTO pending_changes (application_id, kind, author_id, number, comment_id)
            SELECT application_id, \(kind.rawValue), person_id, \(comment.post.number), \(comment.number)
            FROM people WHERE person_id = \(comment.post.author)
            """
        )
    }

    func busName() async throws -> String {
        try await db.one("SELECT name FROM bus", as: { try $0.string("name") })
    }

    /// Returns the position of the last change of each application; applications without changes are absent.
    func lastEventIDs(of applications: [String]) async throws -> [String: StreamEventID] {
        let found = try await db.all(
            """
            SELECT application_id, last_change_number, last_at FROM change_counters
            WHERE application_id = ANY (\(applications))
            """
        ) { row in (try row.string("application_id"), try StreamEventID(row: row)) }
        return Dictionary(found) { first, _ in first }
    }

    /// Returns the position of a change number; nil if the change has expired or never existed.
    func eventID(at changeNumber: Int64, in application: String) async throws -> StreamEventID? {
        try await db.first(
            """
            SELECT change_number AS last_change_number, numbered_at AS last_at FROM changes
            WHERE application_id = \(application) AND change_number = \(changeNumber)
            UNION
            SELECT last_change_number, last_at FROM change_counters
            WHERE application_id = \(application) AND last_change_number = \(changeNumber)
            """,
            as: StreamEventID.init(row:)
        )
    }

    func delete(numberedBefore moment: Date, limit: Int) async throws -> Int {
        try await db.run(
            """
            DELETE FROM changes WHERE (application_id, change_number) IN (
                SELECT application_id, change_number FROM changes
                WHERE numbered_at < \(moment) ORDER BY numbered_at LIMIT \(limit)
            )
            """
        )
    }
}

/// A position in the changes of an application.
///
/// The time distinguishes it from the same number in a database that was restored from a backup.
struct StreamEventID: Hashable, Sendable {
    let changeNumber: Int64
    /// Milliseconds since 1970.
    let at: Int64

    static let none = StreamEventID(changeNumber: 0, at: 0)

    init(changeNumber: Int64, at: Int64) {
        self.changeNumber = changeNumber
        self.at = at
    }

    /// Parses an event id; nil for a malformed id.
    init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let changeNumber = Int64(parts[0]), changeNumber >= 0,
            let at = Int64(parts[1], radix: 36), at >= 0
        else { return nil }
        self.init(changeNumber: changeNumber, at: at)
    }

    var text: String { "\(changeNumber)-\(String(at, radix: 36))" }
}

extension StreamEventID {
    fileprivate init(row: PostgresRow) throws {
        self.init(changeNumber: try row.int64("last_change_number"), at: try row.date("last_at"))
    }

    init(changeNumber: Int64, at: Date) {
        self.init(changeNumber: changeNumber, at: Int64((at.timeIntervalSince1970 * 1_000).rounded()))
    }
}
