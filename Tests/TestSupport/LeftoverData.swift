import Foundation
package import Postgres

/// What is left of somebody: rows of any table and files of any folder that name him, by whatever he is called.
package enum LeftoverData {
    /// Every table of the schemas that has a row in which one of these stands, as `schema.table: needle`.
    ///
    /// A row is looked at as text with all its columns: JSON, arrays, and bytes in hexadecimal too. No schema: the one that
    /// the connection sees.
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
        guard !tables.isEmpty else { throw TestSupportError("there are no tables to look through") }
        var found: [String] = []
        for table in tables {
            found += try await database.all(
                """
                SELECT needle FROM unnest(\(needles)) AS needle
                WHERE EXISTS (
                    SELECT FROM \(identifier: table.schema).\(identifier: table.name) AS place
                    WHERE strpos(lower(place::text), lower(needle)) > 0
                        OR strpos(place::text, encode(convert_to(needle, 'UTF8'), 'hex')) > 0
                )
                """
            ) { "\(table.schema).\(table.name): \(try $0.string("needle"))" }
        }
        return found
    }

    /// Every file below a folder in which one of these stands, or by which it is called.
    package static func inFiles(below folder: String, containing needles: [String]) throws -> [String] {
        let root = URL(filePath: folder)
        guard let files = FileManager.default.enumerator(at: root, includingPropertiesForKeys: [.isRegularFileKey])
        else { throw TestSupportError("\(folder) cannot be looked through") }
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
