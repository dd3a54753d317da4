import ChildProcesses
import Foundation
import LocalPostgres
import Postgres

/// `pg_dump` and `pg_restore`, of a version that fits.
struct ArchiveTool: Sendable {
    private let path: String
    let majorVersion: Int
    private let limit: Duration

    /// The `pg_dump` for a server of this version: it refuses one that is newer than itself.
    static func dump(server version: Int, limit: Duration) throws -> ArchiveTool {
        try ArchiveTool("pg_dump", notOlderThan: version, limit: limit)
    }

    /// The `pg_restore` for what a `pg_dump` of this version has written.
    static func restore(writtenBy version: Int, limit: Duration) throws -> ArchiveTool {
        try ArchiveTool("pg_restore", notOlderThan: version, limit: limit)
    }

    private init(_ name: String, notOlderThan version: Int, limit: Duration) throws {
        let installation = try PostgresInstallation.find([name], notOlderThan: version)
        path = installation.program(name)
        majorVersion = installation.majorVersion
        self.limit = limit
    }

    /// Writes one schema as it is in a snapshot that another session holds open.
    func dump(_ schema: String, of url: String, in snapshot: String, to file: String) async throws {
        let arguments = [
            "--format=custom", "--schema=\(Self.pattern(schema))", "--snapshot=\(snapshot)", "--no-password",
            // A migration that holds a table is waited for, but not for ever.
            "--lock-wait-timeout=60s", "--file=\(file)",
        ]
        try await run(arguments, at: url, to: "pg_dump of \(schema)")
    }

    /// Writes everything that is inside of a schema into one of the same name, all of it or nothing; it becomes the
    /// property of the URL's user.
    func restore(_ schema: String, from file: String, into url: String) async throws {
        let arguments = [
            "--schema=\(schema)", "--no-owner", "--no-privileges", "--single-transaction", "--exit-on-error",
            "--no-password", "--dbname=application_name='roost restore'", file,
        ]
        try await run(arguments, at: url, to: "pg_restore of \(schema)")
    }

    private func run(_ arguments: [String], at url: String, to what: String) async throws {
        var environment = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("PG") }
        environment.merge(try PostgresConfiguration(url: url).environment) { $1 }
        environment["PGCONNECT_TIMEOUT"] = environment["PGCONNECT_TIMEOUT"] ?? "10"
        // Its words are looked for in no other language, and told to a person as they are.
        environment["LC_ALL"] = "C.UTF-8"
        var command = ProcessCommand(path, arguments, environment: environment)
        // Ctrl-C at the terminal is for it as well.
        command.leadsGroup = false
        let (status, output) = try await command.run(within: limit)
        try Task.checkCancellation()
        guard status.isSuccess else {
            let words = output.trimmingCharacters(in: .whitespacesAndNewlines)
            throw Workspace.Problem("\(what) failed with \(status)" + (words.isEmpty ? "" : ":\n\(words)"))
        }
    }

    /// A name as `pg_dump` takes it in a pattern: in double quotes it stands for itself.
    private static func pattern(_ name: String) -> String { PostgresQuery.quoted(identifier: name) }
}
