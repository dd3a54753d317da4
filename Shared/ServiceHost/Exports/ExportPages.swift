package import Postgres
package import Wire

/// Rows for an export, encoded as JSON by PostgreSQL, so that no API type between the table and the export can omit a
/// column.
package enum ExportPages {
    /// The maximum number of rows in a page.
    package static let limit = 500

    /// The items of a page, and the position after which the next page starts; nil after the last page.
    package typealias Page = (items: [any Encodable & Sendable], after: [Int64]?)

    /// Returns a page of a query with the columns `place` and `row`.
    ///
    /// `place` is an array of integers that orders the rows, and `row` is JSON. The query must return at most ``limit``
    /// rows after the given position.
    ///
    /// - Parameters:
    ///   - query: the query.
    ///   - database: the service's database.
    /// - Returns: the page.
    /// - Throws: a `PostgresError`.
    package static func page(_ query: PostgresQuery, of database: some PostgresExecutor) async throws -> Page {
        let rows = try await database.all(query) { row in
            (place: try row.decode("place", as: [Int64].self), text: try row.string("row"))
        }
        let items = try rows.map { try WireJSON.decoder().decode(JSONValue.self, from: $0.text.utf8) }
        return (items, rows.count == limit ? rows.last?.place : nil)
    }

    /// Returns all rows of a query with the column `row`; only for results of bounded size.
    package static func all(_ query: PostgresQuery, of database: some PostgresExecutor) async throws -> [JSONValue] {
        try await database.all(query) { try WireJSON.decoder().decode(JSONValue.self, from: try $0.string("row").utf8) }
    }

    /// Returns the SQL expression that formats a timestamp as in the API: RFC 3339 in UTC with milliseconds.
    package static func time(_ column: String) -> String {
        #"to_char(\#(column) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')"#
    }
}
