import ChildProcesses
import Foundation
import Glibc
package import Logging

extension PostgresServer {
    /// Starts a server in a temporary folder of this process; `discard()` removes both.
    ///
    /// If this process crashes, the server stops by itself, and the next temporary server removes the folder. Tests of
    /// crashes use a `.durable` server.
    ///
    /// - Parameters:
    ///   - durability: whether committed data must survive a crash.
    ///   - maximumConnections: the maximum number of connections.
    ///   - settings: further settings of `postgresql.conf`.
    ///   - logger: receives the server's states.
    /// - Returns: the running server.
    /// - Throws: a `LocalPostgresError` if the server cannot be created or started.
    package static func temporary(
        durability: Configuration.Durability = .disposable,
        maximumConnections: Int = 400,
        settings: [String: String] = [:],
        logger: Logger
    ) async throws -> PostgresServer {
        await removeAbandoned(logger: logger)
        guard let owner = ProcessIdentity.current else {
            throw LocalPostgresError("/proc cannot be read")
        }
        let name = "\(prefix)\(owner.pid)-\(owner.startTime)-\(randomPassword().prefix(8))"
        let configuration = Configuration(
            directory: "\(parent)/\(name)",
            durability: durability,
            maximumConnections: maximumConnections,
            settings: settings
        )
        let server = try PostgresServer(configuration, logger: logger)
        do {
            try await server.start()
        } catch {
            await server.discard()
            throw error
        }
        return server
    }

    /// Stops the server and removes its folder with all data.
    package func discard() async {
        await stop()
        // A folder that cannot be removed now is removed by the next temporary server.
        try? FileManager.default.removeItem(atPath: configuration.directory)
    }

    private static let prefix = "local-postgres-"

    /// The folder of temporary servers; for root not TMPDIR, which other users may not be able to enter.
    private static var parent: String {
        geteuid() == 0 ? "/tmp" : FileManager.default.temporaryDirectory.path(percentEncoded: false).trimmedSlash
    }

    /// Removes the folders of processes that crashed before they could remove them.
    private static func removeAbandoned(logger: Logger) async {
        // Errors are ignored, because folders that cannot be listed or removed belong to other users.
        for name in (try? FileManager.default.contentsOfDirectory(atPath: parent)) ?? [] where name.hasPrefix(prefix) {
            let parts = name.dropFirst(prefix.count).split(separator: "-")
            guard parts.count == 3, let pid = Int32(parts[0]), let startTime = UInt64(parts[1]),
                !ProcessIdentity(pid: pid, startTime: startTime).isAlive
            else {
                continue
            }
            let configuration = Configuration(directory: "\(parent)/\(name)", durability: .disposable)
            guard let server = try? PostgresServer(configuration, logger: logger) else {
                continue
            }
            try? await server.stopLeftover()
            try? FileManager.default.removeItem(atPath: configuration.directory)
        }
    }
}

extension String {
    fileprivate var trimmedSlash: String { count > 1 && hasSuffix("/") ? String(dropLast()) : self }
}
