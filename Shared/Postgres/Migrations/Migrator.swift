public import Logging

/// Brings a schema to the state a program expects, once, however many processes start at a time.
public struct Migrator: Sendable {
    private let configuration: PostgresConfiguration
    private let schema: String
    private let logger: Logger

    /// A migrator of one schema.
    ///
    /// With ``PostgresConfiguration/role`` set, that role is made if it is not there and the URL's user may make it, owns the
    /// schema and runs the migrations.
    public init(configuration: PostgresConfiguration, schema: String, logger: Logger) {
        self.configuration = configuration
        self.schema = schema
        self.logger = logger
    }

    /// Creates the schema if need be and applies, in the order of their names, the migrations it lacks.
    ///
    /// - Returns: the names of those applied now.
    /// - Throws: ``PostgresError``, of kind ``PostgresError/Kind/migration`` when an applied migration was edited or is
    ///   unknown, or a new one sorts before an applied one. What failed left nothing behind.
    @discardableResult
    public func migrate(_ migrations: [Migration]) async throws -> [String] {
        throw PostgresError(.shuttingDown, "not yet")
    }
}
