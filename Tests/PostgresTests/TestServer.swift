import Foundation
import Logging
import Postgres
import Synchronization

/// The PostgreSQL server for the tests, from `TEST_DATABASE_URL`, whose user is a superuser.
enum TestServer {
    struct Missing: Error, CustomStringConvertible {
        let description = "TEST_DATABASE_URL names no PostgreSQL server; run `make test`"
    }

    static let logger: Logger = {
        var logger = Logger(label: "postgres.tests") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = .critical
        return logger
    }()

    static var url: String {
        get throws {
            guard let url = ProcessInfo.processInfo.environment["TEST_DATABASE_URL"] else { throw Missing() }
            return url
        }
    }

    /// The server's address, for a proxy in front of it.
    static var address: (host: String, port: UInt16) {
        get throws {
            guard let components = URLComponents(string: try url), let port = components.port else { throw Missing() }
            return (components.host ?? "127.0.0.1", UInt16(port))
        }
    }

    /// The URL of the same database through another port.
    static func url(port: UInt16) throws -> String {
        guard var components = URLComponents(string: try url) else { throw Missing() }
        components.host = "127.0.0.1"
        components.port = Int(port)
        guard let url = components.string else { throw Missing() }
        return url
    }

    /// A name that no other test uses.
    static func uniqueName(_ prefix: String) -> String {
        prefix + UUID().uuidString.lowercased().replacing("-", with: "").prefix(16)
    }
}

/// A pool in a schema of its own, and another pool to observe it from outside.
struct Fixture: Sendable {
    let pool: PostgresPool
    let admin: PostgresPool
    let schema: String
    let applicationName: String

    /// The process ids of the pool's backends.
    func backends() async throws -> [Int] {
        try await admin.all(
            "SELECT pid FROM pg_stat_activity WHERE application_name = \(applicationName) ORDER BY pid"
        ) { try $0.int("pid") }
    }

    /// Waits until a backend of the pool runs a statement like this.
    func untilRunning(_ pattern: String) async throws {
        try await until("a statement like \(pattern) runs") {
            try await admin.one(
                """
                SELECT EXISTS (
                    SELECT FROM pg_stat_activity
                    WHERE application_name = \(applicationName) AND state = 'active' AND query LIKE \(pattern)
                ) AS it
                """
            ) { try $0.bool("it") }
        }
    }

    /// Terminates every backend of the pool, and returns their number.
    @discardableResult
    func terminateBackends() async throws -> Int {
        try await admin.all(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = \(applicationName)"
        ) { _ in }.count
    }
}

/// Limits how many tests run at once, because tests that all connect together only wait for each other.
final class TestSlots: Sendable {
    static let fixtures = TestSlots(capacity: 8)

    private struct State {
        var free: Int
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state: Mutex<State>

    init(capacity: Int) {
        state = Mutex(State(free: capacity))
    }

    func enter() async {
        await withCheckedContinuation { continuation in
            let entered = state.withLock { state in
                guard state.free == 0 else {
                    state.free -= 1
                    return true
                }
                state.waiting.append(continuation)
                return false
            }
            if entered { continuation.resume() }
        }
    }

    func leave() {
        let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
            state.free += 1
            return nil
        }
        next?.resume()
    }
}

struct Timeout: Error, CustomStringConvertible {
    let description: String
}

/// Waits until a condition holds, for a minute at most.
func until(_ condition: String, _ holds: () async throws -> Bool) async throws {
    let deadline = ContinuousClock.now + .seconds(60)
    while try await !holds() {
        guard ContinuousClock.now < deadline else { throw Timeout(description: "not within 60 s: \(condition)") }
        try await Task.sleep(for: .milliseconds(5))
    }
}

/// The error of a call; nil if it succeeds.
func failure<Value>(_ body: () async throws -> Value) async -> PostgresError? {
    do {
        _ = try await body()
        return nil
    } catch {
        return error as? PostgresError
    }
}

/// Sets timeouts for a slow machine; tests of a timeout set their own.
func relaxTimeouts(_ configuration: inout PostgresConfiguration) {
    configuration.connectTimeout = .seconds(30)
    configuration.acquireTimeout = .seconds(30)
    configuration.readTimeout = .seconds(30)
    configuration.statementTimeout = .seconds(60)
    configuration.responseTimeout = .seconds(30)
    configuration.idleTransactionTimeout = .seconds(120)
}

/// Runs a test with a new pool in a new schema, through the proxy if there is one.
func withFixture(
    through proxy: FaultProxy? = nil,
    _ adjust: (inout PostgresConfiguration) -> Void = { _ in },
    _ body: (Fixture) async throws -> Void
) async throws {
    await TestSlots.fixtures.enter()
    defer { TestSlots.fixtures.leave() }
    let schema = TestServer.uniqueName("t_")
    var adminConfiguration = try PostgresConfiguration(url: TestServer.url)
    adminConfiguration.readConnections = 0
    adminConfiguration.transactionConnections = 2
    relaxTimeouts(&adminConfiguration)
    let admin = PostgresPool(configuration: adminConfiguration, logger: TestServer.logger)
    try await admin.run("CREATE SCHEMA \(identifier: schema)")
    var configuration = try PostgresConfiguration(
        url: try proxy.map { try TestServer.url(port: $0.port) } ?? TestServer.url
    )
    configuration.schema = schema
    configuration.applicationName = schema
    relaxTimeouts(&configuration)
    adjust(&configuration)
    let pool = PostgresPool(configuration: configuration, logger: TestServer.logger)
    let fixture = Fixture(pool: pool, admin: admin, schema: schema, applicationName: schema)
    let result: Result<Void, any Error>
    do {
        result = .success(try await body(fixture))
    } catch {
        result = .failure(error)
    }
    proxy?.close()
    await pool.shutdown()
    try await admin.run("DROP SCHEMA \(identifier: schema) CASCADE")
    await admin.shutdown()
    try result.get()
}
