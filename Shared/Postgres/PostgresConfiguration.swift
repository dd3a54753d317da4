import CLibpq

/// The address of a server, the role and schema to use, and the limits of a pool.
///
/// Each wait of a pool is bounded by one of these limits.
public struct PostgresConfiguration: Sendable {
    /// The server as a connection URI (`postgres://user@host:5432/database`) or in libpq's `key=value` form.
    ///
    /// All parameters of libpq are allowed, for example `sslmode` and `sslrootcert`.
    public let url: String

    /// The role to switch to after connecting; nil keeps the URL's user.
    ///
    /// The role limits mistakes, not attacks: SQL can switch back with `RESET ROLE`.
    public var role: String?

    /// The only schema, apart from `pg_catalog`, in which unqualified names are resolved; nil keeps the server's
    /// `search_path`.
    public var schema: String?

    /// The name that `pg_stat_activity` shows for the pool's connections.
    public var applicationName = "swift"

    /// The pool's name in metrics and logs.
    public var name = "postgres"

    /// The number of read-only connections, shared by all statements of ``PostgresPool/reads``.
    ///
    /// Statements are pipelined, so that two connections carry all reads of a service: the second one serves while the
    /// first one is lost or has a slow statement.
    public var readConnections = 2

    /// The maximum number of statements in flight on one shared connection; further statements wait in the client.
    public var readsInFlight = 64

    /// The server settings that apply only to the shared read connections (`plan_cache_mode`, …).
    public var readSettings: [String: String] = [:]

    /// The maximum number of transactions and single statements that run at the same time.
    public var transactionConnections = 8

    /// The limit for one connection attempt.
    public var connectTimeout: Duration = .seconds(5)

    /// The limit for a statement on the shared read connections, enforced by the server.
    public var readTimeout: Duration = .seconds(2)

    /// The limit for any other statement, enforced by the server.
    public var statementTimeout: Duration = .seconds(10)

    /// The time after a statement's own limit in which the server must respond; later the connection counts as lost.
    public var responseTimeout: Duration = .seconds(1)

    /// The limit for a transaction's idle time between statements; the server then ends the session.
    public var idleTransactionTimeout: Duration = .seconds(30)

    /// The limit for a call's wait for a connection.
    public var acquireTimeout: Duration = .seconds(2)

    /// The maximum number of waiting calls, counted separately for reads and for transactions; further calls fail
    /// immediately.
    public var maximumWaiting = 1_024

    /// The maximum number of prepared statements per connection.
    public var preparedStatements = 256

    /// The time after which an unused transaction connection is closed; one connection always stays open.
    public var idleTimeout: Duration = .seconds(60)

    /// The limit for work in progress during a shutdown.
    public var drainTimeout: Duration = .seconds(10)

    /// The interval between keep-alive queries on a listening connection.
    public var keepaliveInterval: Duration = .seconds(5)

    /// The maximum number of notifications buffered for a slow listener; beyond it, notifications are dropped and the
    /// listener receives ``PostgresListener/Event/reconnected``.
    public var notificationBuffer = 4_096

    /// Creates a configuration with default limits.
    ///
    /// - Parameter url: the connection URI, or libpq's `key=value` form.
    /// - Throws: a ``PostgresError`` of kind ``PostgresError/Kind/configuration`` if libpq cannot parse the URL. The
    ///   message does not contain the URL, which may hold a password.
    public init(url: String) throws {
        self.url = url
        _ = try Conninfo.options(of: url)
    }
}

enum Conninfo {
    /// Returns the parameters of a connection string.
    static func options(of url: String) throws -> [String: String] {
        var problem: UnsafeMutablePointer<CChar>?
        guard let parsed = PQconninfoParse(url, &problem) else {
            // libpq's message quotes the invalid part, which may be a password.
            PQfreemem(problem)
            throw PostgresError(.configuration, "the database URL is not a valid connection string")
        }
        defer { PQconninfoFree(parsed) }
        var options: [String: String] = [:]
        var option = parsed
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val { options[String(cString: keyword)] = String(cString: value) }
            option += 1
        }
        return options
    }
}
