package import ChildProcesses
import Foundation
import Glibc
import Locks
package import Logging

/// A private PostgreSQL server: made on first use, started, watched over and stopped by this process.
///
/// It listens on 127.0.0.1 alone, on a port that it keeps, and asks everyone for a password (SCRAM). Its folder holds
/// `data`, `log`, `port` and `superuser-password`, and is readable to the account that runs it and to root.
package final class PostgresServer: Sendable {
    package struct Configuration: Sendable {
        package enum Durability: Sendable {
            /// What was committed is there after any crash, and the server is back from one within seconds.
            case durable
            /// For tests: nothing is flushed to disk, so a crash of the machine may lose all.
            case disposable
        }

        /// The folder that is the server's own, made if need be.
        package var directory: String
        package var durability: Durability
        package var maximumConnections: Int
        /// More settings of `postgresql.conf`, which win over those made here.
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

    /// Finds PostgreSQL's programs; nothing is made or started yet.
    package init(_ configuration: Configuration, logger: Logger) throws {
        self.configuration = configuration
        self.logger = logger
        installation = try PostgresInstallation.find()
        account = try ServerAccount()
    }

    var data: String { "\(configuration.directory)/data" }
    package var logFile: String { "\(configuration.directory)/log" }

    /// The process that is the server, if this object has started one that still runs.
    package var process: ChildProcess? {
        running.withLock { $0?.status == nil ? $0 : nil }
    }

    /// The port, known once the server was prepared.
    package var port: Int? { access.withLock { $0?.port } }

    /// A connection URL, usable once the server was prepared; without a password, the superuser's is filled in.
    ///
    /// A password given is of characters that a URL takes as they are.
    package func url(role: String = "postgres", password: String? = nil, database: String = "postgres") -> String {
        let (port, superuser) = access.withLock { $0 ?? (0, "") }
        return "postgres://\(role):\(password ?? superuser)@127.0.0.1:\(port)/\(database)"
    }

    /// Sees to it that the folder holds a whole cluster that nobody else runs, and settles on the port.
    ///
    /// A cluster whose making was broken off is made anew, and a server that an earlier run has left behind stopped.
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

    /// Starts the server process and returns at once; it may not answer yet, and may end because a part of its dead
    /// predecessor is still there, in which case it is to be launched again.
    ///
    /// - Precondition: the server was prepared.
    package func launch() async throws -> ChildProcess {
        try await stopLeftover()
        let child = try await ChildProcess.start(serverCommand(await settings()))
        running.withLock { $0 = child }
        return child
    }

    /// Whether a server that somebody else has started runs in this folder; `url` then leads to it.
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

    /// Whether a server runs in this folder, by any process.
    package static func isRunning(in directory: String) -> Bool {
        PostmasterFile(data: "\(directory)/data")?.process != nil
    }

    /// Whether the server takes connections, by what it writes about itself (as `pg_ctl` asks).
    package var isReady: Bool {
        guard let child = process, let postmasterFile = PostmasterFile(data: data) else {
            return false
        }
        return postmasterFile.pid == child.pid && postmasterFile.isReady
    }

    /// Prepares and starts the server and waits until it takes connections.
    package func start(within limit: Duration = .seconds(60)) async throws {
        try await prepare()
        let deadline = ContinuousClock.now + limit
        var child = try await launch()
        while !isReady {
            guard ContinuousClock.now < deadline else {
                await stop()
                throw LocalPostgresError("PostgreSQL did not answer within \(limit): see \(logFile)\n\(logTail())")
            }
            if let status = child.status {
                logger.warning("postgresql ended while starting", metadata: ["status": "\(status)"])
                try await Task.sleep(for: .milliseconds(100))
                try choosePort()
                child = try await launch()
            }
            // The server tells a file, not us, that it is ready.
            try await Task.sleep(for: .milliseconds(10))
        }
        logger.debug("postgresql is ready", metadata: ["port": "\(port ?? 0)", "data": "\(data)"])
    }

    /// Stops the server: cleanly, and by force where that takes too long.
    package func stop(within limit: Duration = .seconds(10)) async {
        guard let child = process else {
            return
        }
        // Fast: sessions are ended, what was committed is checkpointed.
        child.signal(SIGINT)
        if await child.exit(within: limit) == nil {
            child.signal(SIGQUIT)
            if await child.exit(within: .seconds(5)) == nil {
                child.signal(SIGKILL)
            }
        }
        _ = await child.exit()
    }

    /// The end of the server's log, for a message about why it did not start.
    package func logTail(lines: Int = 10) -> String {
        // Silence: a server that has never run has no log.
        let log = (try? String(contentsOfFile: logFile, encoding: .utf8)) ?? ""
        return log.split(separator: "\n").suffix(lines).joined(separator: "\n")
    }

    private func choosePort() throws {
        let file = "\(configuration.directory)/port"
        // Silence: on first use there is no such file.
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
        // Silence: no log, nothing to rotate.
        let size = (try? files.attributesOfItem(atPath: logFile)[.size] as? Int) ?? 0
        if size > 16 << 20 {
            rename(logFile, logFile + ".1")
        }
    }
}
