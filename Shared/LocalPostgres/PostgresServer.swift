package import ChildProcesses
import Foundation
import Glibc
import Locks
package import Logging

/// A private PostgreSQL server, which this process creates at the first use, starts, monitors and stops.
///
/// The server listens only on 127.0.0.1, on a permanent port, and requires a password (SCRAM). Its folder contains
/// `data`, `log`, `port` and `superuser-password`, and only the server's account and root can read it.
package final class PostgresServer: Sendable {
    package struct Configuration: Sendable {
        package enum Durability: Sendable {
            /// Committed data survives any crash, and the server recovers within seconds.
            case durable
            /// For tests: nothing is flushed to disk, so a crash of the machine may lose all data.
            case disposable
        }

        /// The server's own folder, created if necessary.
        package var directory: String
        package var durability: Durability
        package var maximumConnections: Int
        /// Further settings of `postgresql.conf`, which override the defaults.
        package var settings: [String: String]

        package init(
            directory: String,
            durability: Durability = .durable,
            maximumConnections: Int = 200,
            settings: [String: String] = [:]
        ) {
            self.directory = directory
            self.durability = durability
            self.maximumConnections = maximumConnections
            self.settings = settings
        }
    }

    package let configuration: Configuration
    package let installation: PostgresInstallation
    let account: ServerAccount
    private let logger: Logger
    private let access = Lock<(port: Int, password: String)?>(nil)
    private let running = Lock<ChildProcess?>(nil)

    /// Finds PostgreSQL's programs, without creating or starting anything.
    package init(_ configuration: Configuration, logger: Logger) throws {
        self.configuration = configuration
        self.logger = logger
        installation = try PostgresInstallation.find()
        account = try ServerAccount()
    }

    var data: String { "\(configuration.directory)/data" }
    package var logFile: String { "\(configuration.directory)/log" }

    /// The server's process, if this object has started it and it is running.
    package var process: ChildProcess? {
        running.withLock { $0?.status == nil ? $0 : nil }
    }

    /// The port; nil until the server is prepared.
    package var port: Int? { access.withLock { $0?.port } }

    /// Returns a connection URL; valid after the server is prepared.
    ///
    /// - Parameters:
    ///   - role: the user.
    ///   - password: the password, in characters that need no escaping in a URL; nil for the superuser's.
    ///   - database: the database.
    /// - Returns: the URL.
    package func url(role: String = "postgres", password: String? = nil, database: String = "postgres") -> String {
        let (port, superuser) = access.withLock { $0 ?? (0, "") }
        return "postgres://\(role):\(password ?? superuser)@127.0.0.1:\(port)/\(database)"
    }

    /// Ensures that the folder contains a complete cluster that no other process uses, and chooses the port.
    ///
    /// An incomplete cluster is created again, and a server of an earlier run is stopped.
    ///
    /// - Throws: a `LocalPostgresError`.
    package func prepare() async throws {
        try account.makeDirectory(configuration.directory)
        try await stopLeftover()
        let password = try await initializeCluster()
        try rotateLog()
        access.withLock { access in
            access = (access?.port ?? 0, password)
        }
        try choosePort()
    }

    /// Starts the server process and returns immediately.
    ///
    /// The server may not accept connections yet. It may also exit because processes of a crashed predecessor are still
    /// running; then it must be launched again.
    ///
    /// - Precondition: the server is prepared.
    /// - Returns: the process.
    /// - Throws: a `ProcessError` or `LocalPostgresError`.
    package func launch() async throws -> ChildProcess {
        try await stopLeftover()
        let child = try await ChildProcess.start(serverCommand(await settings()))
        running.withLock { $0 = child }
        return child
    }

    /// Returns whether another process has started a server in this folder; `url` then refers to that server.
    package func isRunningElsewhere() throws -> Bool {
        guard let postmasterFile = PostmasterFile(data: data), postmasterFile.isReady, postmasterFile.process != nil
        else {
            return false
        }
        let password = try String(contentsOfFile: "\(configuration.directory)/superuser-password", encoding: .utf8)
        let port = try String(contentsOfFile: "\(configuration.directory)/port", encoding: .utf8)
        access.withLock { $0 = (Int(port.dropLast()) ?? 0, String(password.dropLast())) }
        return true
    }

    /// Returns whether any process runs a server in this folder.
    package static func isRunning(in directory: String) -> Bool {
        PostmasterFile(data: "\(directory)/data")?.process != nil
    }

    /// Whether the server accepts connections, according to its `postmaster.pid` (like `pg_ctl`).
    package var isReady: Bool {
        guard let child = process, let postmasterFile = PostmasterFile(data: data) else {
            return false
        }
        return postmasterFile.pid == child.pid && postmasterFile.isReady
    }

    /// Prepares and starts the server and waits until it accepts connections.
    package func start(within limit: Duration = .seconds(60)) async throws {
        try await prepare()
        let deadline = ContinuousClock.now + limit
        var child = try await launch()
        while !isReady {
            guard ContinuousClock.now < deadline else {
                await stop()
                throw LocalPostgresError("PostgreSQL was not ready within \(limit): see \(logFile)\n\(logTail())")
            }
            if let status = child.status {
                logger.warning("postgresql exited while starting", metadata: ["status": "\(status)"])
                try await Task.sleep(for: .milliseconds(100))
                try choosePort()
                child = try await launch()
            }
            // The server reports its readiness only in a file.
            try await Task.sleep(for: .milliseconds(10))
        }
        logger.debug("postgresql is ready", metadata: ["port": "\(port ?? 0)", "data": "\(data)"])
    }

    /// Stops the server cleanly, or by force after the time limit.
    package func stop(within limit: Duration = .seconds(10)) async {
        guard let child = process else {
            return
        }
        // Fast shutdown: sessions are terminated and a checkpoint is written.
        child.signal(SIGINT)
        if await child.exit(within: limit) == nil {
            child.signal(SIGQUIT)
            if await child.exit(within: .seconds(5)) == nil {
                child.signal(SIGKILL)
            }
        }
        _ = await child.exit()
    }

    /// Returns the end of the server's log, for error messages.
    package func logTail(lines: Int = 10) -> String {
        // A server that has never run has no log.
        let log = (try? String(contentsOfFile: logFile, encoding: .utf8)) ?? ""
        return log.split(separator: "\n").suffix(lines).joined(separator: "\n")
    }

    private func choosePort() throws {
        let file = "\(configuration.directory)/port"
        // At the first use the file does not exist.
        let remembered = (try? String(contentsOfFile: file, encoding: .utf8)).flatMap { Int($0.dropLast()) }
        if let remembered, LoopbackPort(remembered).isFree {
            access.withLock { $0?.port = remembered }
            return
        }
        let port = try LoopbackPort.free(in: 31_000..<32_000).number
        try account.write("\(port)\n", to: file)
        access.withLock { $0?.port = port }
    }

    private func rotateLog() throws {
        let files = FileManager.default
        // A missing log needs no rotation.
        let size = (try? files.attributesOfItem(atPath: logFile)[.size] as? Int) ?? 0
        if size > 16 << 20 {
            rename(logFile, logFile + ".1")
        }
    }
}
