import ChildProcesses
import Foundation
import Glibc

extension PostgresServer {
    /// Makes the cluster unless it is there, and answers the superuser's password.
    ///
    /// `initdb` works beside the final place and the result is renamed to it, so a cluster is there whole or not at all.
    func initializeCluster() async throws -> String {
        let files = FileManager.default
        let passwordFile = "\(configuration.directory)/superuser-password"
        if files.fileExists(atPath: "\(data)/PG_VERSION") {
            let version = try String(contentsOfFile: "\(data)/PG_VERSION", encoding: .utf8).dropLast()
            guard version == "\(installation.majorVersion)" else {
                throw LocalPostgresError(
                    "\(data) was made by PostgreSQL \(version) and the newest here is \(installation.majorVersion): "
                        + "install postgresql-\(version), or move the data with pg_upgrade"
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

    /// Stops a server that an earlier run has left in this folder; it is recognised by the folder it works in.
    ///
    /// The note of one that is no more stays: by it the next server sees whether parts of the dead one still use its
    /// memory, and does not start beside them.
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
        throw LocalPostgresError("PostgreSQL (process \(process.pid)) of an earlier run does not stop")
    }

    /// The server's own settings, given as arguments so that they hold whatever `postgresql.conf` says.
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
            // Little to repeat after a crash under load: back within 3 seconds instead of 7.
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
        // Should this process die, a durable server stops once its clients have gone, a disposable one at once.
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
            // Silence: a server that cannot be asked will say so itself when it is started.
            let result = try? await command.privileged(user: account.name).run(within: .seconds(10))
            return result?.status.isSuccess ?? false
        }
    }

    /// 192 random bits, in characters that a URL and a shell take as they are.
    static func randomPassword() -> String {
        var generator = SystemRandomNumberGenerator()
        return (0..<3).map { _ in
            let word = String(generator.next() as UInt64, radix: 16)
            return String(repeating: "0", count: 16 - word.count) + word
        }.joined()
    }
}

/// What a running server writes about itself into its data folder (`postmaster.pid`).
struct PostmasterFile {
    let pid: Int32
    let isReady: Bool
    private let data: String

    private var path: String { "\(data)/postmaster.pid" }

    init?(data: String) {
        // Silence: no note, no server.
        guard let text = try? String(contentsOfFile: "\(data)/postmaster.pid", encoding: .utf8) else {
            return nil
        }
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard let pid = lines.first.flatMap({ Int32($0) }) else {
            return nil
        }
        self.pid = pid
        self.data = data
        // The eighth line is the state, padded with spaces (utils/pidfile.h).
        isReady = lines.count > 7 && lines[7].hasPrefix("ready")
    }

    /// Keeps PostgreSQL from taking a stranger, who has got the dead server's id, for the server.
    ///
    /// A note with the id of its parent it knows to be old (`CreateLockFile` in miscinit.c), and goes by the rest of it.
    func invalidate() throws {
        // One that is dead and not reaped counts too: PostgreSQL asks in the same way.
        guard kill(pid, 0) == 0, pid != getpid() else {
            return
        }
        let rest = try String(contentsOfFile: path, encoding: .utf8).drop { $0 != "\n" }
        // In place, so that it stays the server's own file.
        let file = try FileHandle(forWritingTo: URL(filePath: path))
        try file.truncate(atOffset: 0)
        try file.write(contentsOf: Data("\(getpid())\(rest)".utf8))
        try file.close()
    }

    /// The server that the note is about, if it lives; a process that works elsewhere only has got its id.
    var process: ProcessIdentity? {
        guard let process = ProcessIdentity(pid: pid), let folder = process.workingDirectory,
            let here = realpath(data, nil)
        else {
            return nil
        }
        defer { free(here) }
        guard folder == String(cString: here) else {
            return nil
        }
        return process
    }
}
