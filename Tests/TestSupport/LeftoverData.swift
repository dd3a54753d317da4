import Foundation
package import Postgres

/// Finds the remaining data of a deleted user: table rows and files that contain one of the user's identifiers.
package enum LeftoverData {
    /// Returns every table that has a row with one of the needles, as `schema.table: needle`.
    ///
    /// Each row is searched as text with all its columns, including JSON, arrays, and bytes in hexadecimal. When
    /// `schemas` is nil, the connection's current schema is searched.
    package static func inTables(
        of schemas: [String]? = nil,
        containing needles: [String],
        _ database: some PostgresExecutor
    ) async throws -> [String] {
        let tables = try await database.all(
            """
            SELECT table_schema, table_name FROM information_schema.tables
            WHERE table_type = 'BASE TABLE'
                AND CASE WHEN \(schemas) IS NULL THEN table_schema = current_schema()
                    ELSE table_schema = ANY (\(schemas)::text[]) END
            ORDER BY table_schema, table_name
            """
        ) { row in (schema: try row.string("table_schema"), name: try row.string("table_name")) }
        guard !tables.isEmpty else { throw TestSupportError("there are no tables to search") }
        var found: [String] = []
        for table in tables {
            found += try await database.all(
                """
                SELECT needle FROM unnest(\(needles)) AS needle
                WHERE EXISTS (
                    SELECT FROM \(identifier: table.schema).\(identifier: table.name) AS record
                    WHERE strpos(lower(record::text), lower(needle)) > 0
                        OR strpos(record::text, encode(convert_to(needle, 'UTF8'), 'hex')) > 0
                )
                """
            ) { "\(table.schema).\(table.name): \(try $0.string("needle"))" }
        }
        return found
    }

    /// Returns every file below a folder whose content or path contains one of the needles.
    package static func inFiles(below folder: String, containing needles: [String]) throws -> [String] {
        let root = URL(filePath: folder)
        guard let files = FileManager.default.enumerator(at: root, includingPropertiesForKeys: [.isRegularFileKey])
        else { throw TestSupportError("\(folder) cannot be searched") }
        var found: [String] = []
        for case let file as URL in files
        where try file.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile == true {
            let bytes = try Data(contentsOf: file, options: .alwaysMapped)
            for needle in needles where file.path().contains(needle) || bytes.firstRange(of: Data(needle.utf8)) != nil {
                found.append("\(file.path(percentEncoded: false)): \(needle)")
            }
        }
        return found
    }
}
