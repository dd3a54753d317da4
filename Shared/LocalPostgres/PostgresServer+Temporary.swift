import ChildProcesses
import Foundation
import Glibc
package import Logging

extension PostgresServer {
    /// Starts a server in a temporary folder that is this process's own; `discard()` removes both.
    ///
    /// Should this process die before that, the server stops by itself, and the next one that is started this way
    /// removes the folder. A test that is about crashes asks for a `.durable` one.
    package static func temporary(
        durability: Configuration.Durability = .disposable,
        maximumConnections: Int = 400,
        settings: [String: String] = [:],
        logger: Logger
    ) async throws -> PostgresServer {
        await removeAbandoned(logger: logger)
        guard let owner = ProcessIdentity.current else {
            throw LocalPostgresError("/proc is not there to be read")
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

    /// Stops the server and removes its folder with all its data.
    package func discard() async {
        await stop()
        // Silence: what cannot be removed now is removed by the next server of this kind.
        try? FileManager.default.removeItem(atPath: configuration.directory)
    }

    private static let prefix = "local-postgres-"

    /// Where temporary servers live; for root not under TMPDIR, which another user need not be able to enter.
    private static var parent: String {
        geteuid() == 0 ? "/tmp" : FileManager.default.temporaryDirectory.path(percentEncoded: false).trimmedSlash
    }

    /// Removes what processes have left that died before they could.
    private static func removeAbandoned(logger: Logger) async {
        // Silence: where nothing can be listed or removed there is nothing of ours.
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
