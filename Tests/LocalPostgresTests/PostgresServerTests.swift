import ChildProcesses
import Foundation
import Glibc
import LocalPostgres
import Logging
import Testing

@Suite("Local PostgreSQL servers", .serialized) struct PostgresServerTests {
    private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    /// Makes a folder for a server, and removes it at the end.
    private func withDirectory(_ body: (String) async throws -> Void) async throws {
        let parent = geteuid() == 0 ? "/tmp" : NSTemporaryDirectory()
        let directory = "\(parent)/postgres-server-test-\(UUID().uuidString)"
        defer {
            // The leftovers of a failed test are in a temporary folder.
            try? FileManager.default.removeItem(atPath: directory)
        }
        try await body(directory)
    }

    private func server(_ directory: String) throws -> PostgresServer {
        try PostgresServer(.init(directory: directory, durability: .disposable, maximumConnections: 10), logger: logger)
    }

    private func psql(_ sql: String, _ server: PostgresServer) async throws -> String {
        let command = ProcessCommand(
            server.installation.program("psql"),
            ["--no-psqlrc", "--tuples-only", "--no-align", "--command", sql, server.url()],
            environment: [:]
        )
        let (status, output) = try await command.run(within: .seconds(60))
        #expect(status.isSuccess, "\(output)")
        return output.trimmingCharacters(in: .newlines)
    }

    @Test("A temporary server runs without fsync, and leaves no process or file")
    func temporaryServer() async throws {
        let server = try await PostgresServer.temporary(maximumConnections: 10, logger: logger)
        let process = try #require(server.process?.identity)

        #expect(try await psql("SELECT current_setting('fsync')", server) == "off")

        await server.discard()
        #expect(!process.isAlive)
        #expect(!FileManager.default.fileExists(atPath: server.configuration.directory))
    }

    @Test("A durable server has safe settings")
    func durableServer() async throws {
        let server = try await PostgresServer.temporary(durability: .durable, maximumConnections: 10, logger: logger)

        let settings = try await psql(
            "SELECT string_agg(setting, ' ' ORDER BY name) FROM pg_settings "
                + "WHERE name IN ('fsync', 'listen_addresses', 'max_wal_size', 'password_encryption')",
            server
        )

        await server.discard()
        #expect(settings == "on 127.0.0.1 192 scram-sha-256")
    }

    @Test("A wrong password is refused")
    func wrongPassword() async throws {
        let server = try await PostgresServer.temporary(maximumConnections: 10, logger: logger)
        let command = ProcessCommand(
            server.installation.program("psql"),
            ["--no-password", "--command", "SELECT 1", server.url(password: "wrong")],
            environment: [:]
        )

        let (status, output) = try await command.run(within: .seconds(60))

        await server.discard()
        #expect(!status.isSuccess)
        #expect(output.contains("password authentication failed"))
    }

    @Test("A restart keeps data and URL")
    func restartKeepsData() async throws {
        try await withDirectory { directory in
            let first = try server(directory)
            try await first.start()
            _ = try await psql("CREATE TABLE kept AS SELECT 42 AS answer", first)
            let url = first.url()
            await first.stop()

            let second = try server(directory)
            try await second.start()

            #expect(second.url() == url)
            #expect(try await psql("SELECT answer FROM kept", second) == "42")
            await second.stop()
        }
    }

    @Test("An unfinished cluster is made again")
    func unfinishedCluster() async throws {
        try await withDirectory { directory in
            try FileManager.default.createDirectory(
                atPath: "\(directory)/data.unfinished/base",
                withIntermediateDirectories: true
            )
            let server = try server(directory)

            try await server.start()

            #expect(try await psql("SELECT 1", server) == "1")
            #expect(!FileManager.default.fileExists(atPath: "\(directory)/data.unfinished"))
            await server.stop()
        }
    }

    @Test("A server that another process left is stopped")
    func leftoverServer() async throws {
        try await withDirectory { directory in
            let abandoned = try server(directory)
            try await abandoned.start()
            let process = try #require(abandoned.process?.identity)
            let second = try server(directory)
            #expect(try second.isRunningElsewhere())

            try await second.start()

            #expect(!process.isAlive)
            #expect(try await psql("SELECT 1", second) == "1")
            await second.stop()
            #expect(try !second.isRunningElsewhere())
        }
    }

    @Test("The process that reuses a dead server's id is not killed")
    func reusedProcessID() async throws {
        try await withDirectory { directory in
            let first = try server(directory)
            try await first.start()
            let note = "\(directory)/data/postmaster.pid"
            let lines = try String(contentsOfFile: note, encoding: .utf8).split(separator: "\n").dropFirst()
            let child = try #require(first.process)
            child.signal(SIGKILL)
            _ = await child.exit()
            // As after a reboot: the dead server's id belongs to another live process of this user.
            let command = ProcessCommand("sleep", ["60"], environment: ProcessInfo.processInfo.environment)
            let other = try await ChildProcess.start(command)
            try (["\(other.pid)"] + lines.map(String.init)).joined(separator: "\n").write(
                toFile: note,
                atomically: false,
                encoding: .utf8
            )

            let second = try server(directory)
            try await second.start()

            #expect(other.status == nil)
            #expect(try await psql("SELECT 1", second) == "1")
            await second.stop()
            other.signal(SIGKILL)
        }
    }

    @Test("A start waits for the backends of a killed server")
    func leftoverBackend() async throws {
        try await withDirectory { directory in
            let server = try server(directory)
            try await server.start()
            let session = ProcessCommand(
                server.installation.program("psql"),
                ["--no-psqlrc", "--command", "SELECT pg_sleep(60)", server.url()],
                environment: [:]
            )
            async let sleeping = session.run(within: .seconds(60))
            let query = "SELECT pid FROM pg_stat_activity WHERE query LIKE '%pg_sleep(60)' AND pid <> pg_backend_pid()"
            var backend: ProcessIdentity?
            while backend == nil {
                backend = ProcessIdentity(pid: Int32(try await psql(query, server)) ?? 0)
            }
            // A stopped backend does not notice that its server has died.
            backend?.signal(SIGSTOP)
            let child = try #require(server.process)
            child.signal(SIGKILL)
            _ = await child.exit()

            await #expect(throws: LocalPostgresError.self) { try await server.start(within: .seconds(1)) }

            backend?.signal(SIGCONT)
            try await server.start()
            #expect(try await psql("SELECT 1", server) == "1")
            await server.stop()
            _ = try await sleeping
        }
    }

    @Test("Committed data survives a kill")
    func committedDataSurvivesKill() async throws {
        try await withDirectory { directory in
            let server = try PostgresServer(.init(directory: directory, maximumConnections: 10), logger: logger)
            try await server.start()
            _ = try await psql("CREATE TABLE kept AS SELECT 42 AS answer", server)
            let child = try #require(server.process)
            child.signal(SIGKILL)
            _ = await child.exit()

            try await server.start()

            #expect(try await psql("SELECT answer FROM kept", server) == "42")
            await server.stop()
        }
    }

    @Test("The folder of a dead owner is removed, and its server stopped")
    func abandonedFolder() async throws {
        let temporary = try await PostgresServer.temporary(maximumConnections: 10, logger: logger)
        let process = try #require(temporary.process?.identity)
        // The same folder, named for a dead owner, with its server still running.
        let parts = temporary.configuration.directory.split(separator: "-")
        let orphan = temporary.configuration.directory.replacing("-\(parts[2])-", with: "-1-", maxReplacements: 1)
        #expect(rename(temporary.configuration.directory, orphan) == 0)

        let next = try await PostgresServer.temporary(maximumConnections: 10, logger: logger)

        #expect(!process.isAlive)
        #expect(!FileManager.default.fileExists(atPath: orphan))
        await next.discard()
    }
}
