import ChildProcesses
import Foundation
import LocalPostgres
import Postgres

struct ArchiveTool: Sendable {
    private let path: String
    let majorVersion: Int
    private let limit: Duration

    /// Returns the `pg_dump` for a server of this version; `pg_dump` rejects servers that are newer than itself.
    static func dump(server version: Int, limit: Duration) throws -> ArchiveTool {
        try ArchiveTool("pg_dump", notOlderThan: version, limit: limit)
    }

    /// Returns the `pg_restore` for archives that a `pg_dump` of this version has written.
    static func restore(writtenBy version: Int, limit: Duration) throws -> ArchiveTool {
        try ArchiveTool("pg_restore", notOlderThan: version, limit: limit)
    }

    private init(_ name: String, notOlderThan version: Int, limit: Duration) throws {
        let installation = try PostgresInstallation.find([name], notOlderThan: version)
        path = installation.program(name)
        majorVersion = installation.majorVersion
        self.limit = limit
    }

    func dump(_ schema: String, of url: String, in snapshot: String, to file: String) async throws {
        let arguments = [
            "--format=custom", "--schema=\(Self.pattern(schema))", "--snapshot=\(snapshot)", "--no-password",
            // `pg_dump` waits for a migration that locks a table, but not without limit.
            "--lock-wait-timeout=60s", "--file=\(file)",
        ]
        try await run(arguments, at: url, to: "pg_dump of \(schema)")
    }

    /// Restores the content of a schema into a schema of the same name, in one transaction.
    ///
    /// The user of the URL becomes the owner.
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
        // The operator reads the output as it is, so it is always in English.
        environment["LC_ALL"] = "C.UTF-8"
        var command = ProcessCommand(path, arguments, environment: environment)
        // Ctrl-C at the terminal must also reach the tool.
        command.leadsGroup = false
        let (status, output) = try await command.run(within: limit)
        try Task.checkCancellation()
        guard status.isSuccess else {
            let words = output.trimmingCharacters(in: .whitespacesAndNewlines)
            throw Workspace.Problem("\(what) failed with \(status)" + (words.isEmpty ? "" : ":\n\(words)"))
        }
    }

    /// Returns a name as a `pg_dump` pattern; double quotes make it literal.
    private static func pattern(_ name: String) -> String { PostgresQuery.quoted(identifier: name) }
}
