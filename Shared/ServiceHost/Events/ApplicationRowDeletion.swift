package import Postgres

/// The deletion of all rows of an application from tables with a column `application_id`, in batches.
package struct ApplicationRowDeletion: Sendable {
    /// The number of rows that one statement deletes.
    private static let batch = 1_000
    /// The number of statements that one call runs, so that other work of the same worker is not delayed for long.
    private static let statements = 50

    private let tables: [String]
    private let database: PostgresPool

    /// Creates a deletion.
    ///
    /// - Parameters:
    ///   - tables: the tables in the order of deletion; a table with a foreign key precedes the table that it refers
    ///     to.
    ///   - database: the service's database.
    package init(_ tables: [String], database: PostgresPool) {
        self.tables = tables
        self.database = database
    }

    /// Deletes rows of an application; returns true when no row is left.
    ///
    /// Several instances may run this at the same time. An interrupted call can be repeated; the next call continues.
    ///
    /// - Parameter application: the application's id.
    /// - Returns: whether all rows are deleted.
    /// - Throws: a `PostgresError`.
    package func erase(_ application: String) async throws -> Bool {
        var statements = Self.statements
        for table in tables {
            var deleted = Self.batch
            while deleted == Self.batch {
                guard statements > 0 else { return false }
                statements -= 1
                deleted = try await database.run(
                    """
                    DELETE FROM \(identifier: table)
                    WHERE ctid = ANY (ARRAY(
                        SELECT ctid FROM \(identifier: table) WHERE application_id = \(application)
                        LIMIT \(Self.batch) FOR UPDATE SKIP LOCKED
                    ))
                    """
                )
            }
            // The next call handles rows that another instance has locked or that were updated meanwhile.
            let isLeft = try await database.one(
                "SELECT EXISTS (SELECT FROM \(identifier: table) WHERE application_id = \(application)) AS is_left"
            ) { try $0.bool("is_left") }
            guard !isLeft else { return false }
        }
        return true
    }
}
