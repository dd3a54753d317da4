import CLibpq

/// Where the server is, as whom to speak to it, and how much of it to use.
///
/// Every wait of a pool is bounded by one of these.
public struct PostgresConfiguration: Sendable {
    /// The server: a connection URI (`postgres://user@host:5432/database`) or libpq's `key=value` form.
    ///
    /// Everything libpq knows may stand in it, `sslmode` and `sslrootcert` above all.
    public let url: String

    /// The role to act as, if not the one of the URL.
    ///
    /// A guard rather than a wall: SQL can leave it again.
    public var role: String?

    /// The schema in which unqualified names are looked up, and nowhere else but in `pg_catalog`.
    public var schema: String?

    /// What the server shows in `pg_stat_activity`.
    public var applicationName = "swift"

    /// The pool's name in metrics and logs.
    public var name = "postgres"

    /// How many connections all reads share.
    public var readConnections = 2

    /// How many statements may be on their way on one shared connection; more wait here.
    public var readsInFlight = 64

    /// Settings of the server for the shared connections alone (`plan_cache_mode`, …).
    public var readSettings: [String: String] = [:]

    /// How many transactions and single statements run at a time.
    public var transactionConnections = 8

    /// How long one attempt to connect may take.
    public var connectTimeout: Duration = .seconds(5)

    /// How long a statement on the shared connections may run; the server stops it.
    public var readTimeout: Duration = .seconds(2)

    /// How long any other statement may run; the server stops it.
    public var statementTimeout: Duration = .seconds(10)

    /// How much longer than its own limit a server may stay silent before it is taken for dead.
    public var responseTimeout: Duration = .seconds(1)

    /// How long a transaction may do nothing; the server ends it.
    public var idleTransactionTimeout: Duration = .seconds(30)

    /// How long a call waits for a connection.
    public var acquireTimeout: Duration = .seconds(2)

    /// How many calls may wait, for reads and for transactions each; the next fails at once.
    public var maximumWaiting = 1_024

    /// How many prepared statements a connection keeps.
    public var preparedStatements = 256

    /// How long an unused connection for transactions is kept open; one always is.
    public var idleTimeout: Duration = .seconds(60)

    /// How long a shutdown waits for what is under way.
    public var drainTimeout: Duration = .seconds(10)

    /// How often a listening connection is asked whether it lives.
    public var keepaliveInterval: Duration = .seconds(5)

    /// How many notifications wait for a slow reader before it is told that it missed some.
    public var notificationBuffer = 4_096

    /// Settings for a server.
    ///
    /// - Throws: a ``PostgresError`` that says what is wrong with the URL, without its password.
    public init(url: String) throws {
        self.url = url
        _ = try Conninfo.options(of: url)
    }
}

/// libpq's parser of connection strings.
enum Conninfo {
    /// The settings a connection string names.
    static func options(of url: String) throws -> [String: String] {
        var problem: UnsafeMutablePointer<CChar>?
        guard let parsed = PQconninfoParse(url, &problem) else {
            // libpq quotes what it could not read, which may be a password
            PQfreemem(problem)
            throw PostgresError(.configuration, "the database URL is not a connection string that libpq can read")
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
