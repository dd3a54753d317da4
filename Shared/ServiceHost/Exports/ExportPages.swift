package import Postgres
package import Wire

/// Rows for an export as PostgreSQL makes JSON of them: what is there is given as it is there, and no noun of the wire is
/// between that could leave something out.
package enum ExportPages {
    /// Rows in one page.
    package static let limit = 500

    /// A page of things, and the place that the next begins behind; nil: that was the last.
    package typealias Page = (items: [any Encodable & Sendable], after: [Int64]?)

    /// A page of a query that answers with `place`, an array of numbers by which rows are in order, and `row`, JSON.
    ///
    /// The query takes at most ``limit`` rows, those behind the place that it was told.
    package static func page(_ query: PostgresQuery, of database: some PostgresExecutor) async throws -> Page {
        let rows = try await database.all(query) { row in
            (place: try row.decode("place", as: [Int64].self), text: try row.string("row"))
        }
        let items = try rows.map { try WireJSON.decoder().decode(JSONValue.self, from: $0.text.utf8) }
        return (items, rows.count == limit ? rows.last?.place : nil)
    }

    /// All rows of a query that answers with `row`, for what is bounded anyway.
    package static func all(_ query: PostgresQuery, of database: some PostgresExecutor) async throws -> [JSONValue] {
        try await database.all(query) { try WireJSON.decoder().decode(JSONValue.self, from: try $0.string("row").utf8) }
    }

    /// The SQL of a moment as the wire has it: RFC 3339 in UTC with milliseconds.
    package static func time(_ column: String) -> String {
        #"to_char(\#(column) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')"#
    }
}
