package import Postgres

/// Deletes all rows of one application from tables with a column `application_id`, a bounded number at a time.
package struct ApplicationRowDeletion: Sendable {
    /// Rows that one statement deletes.
    private static let batch = 1_000
    /// Statements that one call runs, so that other work of the same worker is not delayed for long.
    private static let statements = 50

    private let tables: [String]
    private let database: PostgresPool

    /// - Parameters:
    ///   - tables: in the order of deletion: a table that refers to another one comes before it.
    ///   - database: the service's own.
    package init(_ tables: [String], database: PostgresPool) {
        self.tables = tables
        self.database = database
    }

    /// Deletes rows of an application; true when no row is left.
    ///
    /// May run on several instances at the same time, and may be interrupted: the next call continues.
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
            // Rows that another instance has locked, or that moved meanwhile, are left for the next call.
            let isLeft = try await database.one(
                "SELECT EXISTS (SELECT FROM \(identifier: table) WHERE application_id = \(application)) AS is_left"
            ) { try $0.bool("is_left") }
            guard !isLeft else { return false }
        }
        return true
    }
}
