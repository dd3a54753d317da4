import ChildProcesses
import Foundation
import Glibc

extension PostgresServer {
    /// Creates the cluster unless it exists, and returns the superuser's password.
    ///
    /// `initdb` works in a temporary folder that is then renamed, so a cluster is either complete or missing.
    func initializeCluster() async throws -> String {
        let files = FileManager.default
        let passwordFile = "\(configuration.directory)/superuser-password"
        if files.fileExists(atPath: "\(data)/PG_VERSION") {
            let version = try String(contentsOfFile: "\(data)/PG_VERSION", encoding: .utf8).dropLast()
            guard version == "\(installation.majorVersion)" else {
                throw LocalPostgresError(
                    "\(data) needs PostgreSQL \(version); the newest installed is \(installation.majorVersion): "
                        + "install postgresql-\(version), or upgrade the data with pg_upgrade"
                )
            }
            return String(try String(contentsOfFile: passwordFile, encoding: .utf8).dropLast())
        }
        let password = Self.randomPassword()
        try account.write(password + "\n", to: passwordFile)
        let unfinished = "\(data).unfinished"
        if files.fileExists(atPath: unfinished) {
            try files.removeItem(atPath: unfinished)
        }
        var arguments = [
            "--pgdata", unfinished, "--username", "postgres", "--pwfile", passwordFile,
            "--auth", "scram-sha-256", "--encoding", "UTF8", "--locale", "C.UTF-8",
        ]
        if configuration.durability == .disposable {
            arguments.append("--no-sync")
        }
        let command = account.command(installation.program("initdb"), arguments, in: configuration.directory)
        let (status, output) = try await command.privileged(user: account.name).run(within: .seconds(120))
        guard status.isSuccess else {
            throw LocalPostgresError("initdb failed with \(status):\n\(output)")
        }
        guard rename(unfinished, data) == 0 else {
            throw LocalPostgresError("cannot move the new cluster to \(data): \(String(cString: strerror(errno)))")
        }
        return password
    }

    /// Stops a server of an earlier run, which is identified by its working directory.
    ///
    /// The `postmaster.pid` of a dead server stays: it shows the next server whether processes of the dead one still
    /// use its shared memory.
    ///
    /// - Throws: a `LocalPostgresError` if the server does not stop.
    func stopLeftover() async throws {
        guard let postmasterFile = PostmasterFile(data: data) else {
            return
        }
        guard let process = postmasterFile.process else {
            return try postmasterFile.invalidate()
        }
        for (signal, limit) in [(SIGINT, Duration.seconds(10)), (SIGQUIT, .seconds(5)), (SIGKILL, .seconds(5))] {
            process.signal(signal)
            if await process.hasEnded(within: limit) {
                return
            }
        }
        throw LocalPostgresError("PostgreSQL (process \(process.pid)) from an earlier run does not stop")
    }

    /// Returns the server's settings, which are passed as arguments so that they override `postgresql.conf`.
    func settings() async -> [String: String] {
        var settings = [
            "listen_addresses": "127.0.0.1",
            "port": "\(port ?? 0)",
            "unix_socket_directories": "",
            "max_connections": "\(configuration.maximumConnections)",
            "password_encryption": "scram-sha-256",
            "log_line_prefix": "%m [%p] %q%u@%d ",
            "timezone": "UTC",
            "log_timezone": "UTC",
        ]
        switch configuration.durability {
        case .durable:
            // Frequent checkpoints shorten the recovery after a crash under load from 7 to 3 seconds.
            settings["max_wal_size"] = "192MB"
            settings["checkpoint_timeout"] = "30s"
            settings["wal_compression"] = await hasLZ4 ? "lz4" : "on"
        case .disposable:
            settings["fsync"] = "off"
            settings["synchronous_commit"] = "off"
            settings["full_page_writes"] = "off"
            settings["max_wal_size"] = "1GB"
            settings["checkpoint_timeout"] = "30min"
        }
        return settings.merging(configuration.settings) { $1 }
    }

    func serverCommand(_ settings: [String: String]) -> ProcessCommand {
        let arguments = settings.sorted { $0.key < $1.key }.flatMap { ["-c", "\($0.key)=\($0.value)"] }
        var command = account.command(installation.program("postgres"), ["-D", data] + arguments, in: data)
        command.output = .file(path: logFile)
        // If this process crashes, a durable server stops after its clients have disconnected, a disposable one
        // immediately.
        return command.privileged(
            user: account.name,
            signalOnParentDeath: configuration.durability == .durable ? "TERM" : "INT"
        )
    }

    /// Whether the server was built with LZ4, as Debian's is.
    private var hasLZ4: Bool {
        get async {
            let arguments = ["-D", data, "-C", "wal_compression", "-c", "wal_compression=lz4"]
            let command = account.command(installation.program("postgres"), arguments, in: data)
            // A server that fails here reports the reason when it is started.
            let result = try? await command.privileged(user: account.name).run(within: .seconds(10))
            return result?.status.isSuccess ?? false
        }
    }

    /// Returns 192 random bits in characters that need no escaping in URLs and shells.
    static func randomPassword() -> String {
        var generator = SystemRandomNumberGenerator()
        return (0..<3).map { _ in
            let word = String(generator.next() as UInt64, radix: 16)
            return String(repeating: "0", count: 16 - word.count) + word
        }.joined()
    }
}

/// The content of `postmaster.pid`, which a running server writes into its data folder.
struct PostmasterFile {
    let pid: Int32
    let isReady: Bool
    private let data: String

    private var path: String { "\(data)/postmaster.pid" }

    init?(data: String) {
        // Without the file, no server is running.
        guard let text = try? String(contentsOfFile: "\(data)/postmaster.pid", encoding: .utf8) else {
            return nil
        }
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard let pid = lines.first.flatMap({ Int32($0) }) else {
            return nil
        }
        self.pid = pid
        self.data = data
        // The eighth line contains the state, padded with spaces (utils/pidfile.h).
        isReady = lines.count > 7 && lines[7].hasPrefix("ready")
    }

    /// Prevents PostgreSQL from mistaking another process with the dead server's id for the server.
    ///
    /// PostgreSQL considers a file with its parent's process id stale (`CreateLockFile` in miscinit.c), and then uses
    /// the other lines.
    ///
    /// - Throws: an error if the file cannot be written.
    func invalidate() throws {
        // A process that is dead but not reaped also counts, because PostgreSQL checks in the same way.
        guard kill(pid, 0) == 0, pid != getpid() else {
            return
        }
        let rest = try String(contentsOfFile: path, encoding: .utf8).drop { $0 != "\n" }
        // The file is overwritten in place to keep its owner.
        let file = try FileHandle(forWritingTo: URL(filePath: path))
        try file.truncate(atOffset: 0)
        try file.write(contentsOf: Data("\(getpid())\(rest)".utf8))
        try file.close()
    }

    /// The running server that the file describes; nil if the process works in another folder and only has the same id.
    var process: ProcessIdentity? {
        guard let process = ProcessIdentity(pid: pid), let folder = process.workingDirectory,
            let resolved = realpath(data, nil)
        else {
            return nil
        }
        defer { free(resolved) }
        guard folder == String(cString: resolved) else {
            return nil
        }
        return process
    }
}
