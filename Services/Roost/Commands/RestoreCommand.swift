import ArgumentParser
import Foundation
import Glibc
import LocalPostgres

struct RestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Restores a backup into an empty database and compares the row counts.",
        discussion: """
            First verifies the checksum of every part. The services must not run. Exits with 2 if the backup is \
            damaged, with 1 after any other error; an error message gives the reason.
            """
    )

    @OptionGroup var options: WorkspaceOptions
    @OptionGroup var timeoutOptions: TimeoutOptions

    @Argument(help: "The folder that roost backup created.")
    var path: String

    @Flag(help: "Drops the existing data of the services.")
    var replace = false

    @Flag(help: "Restores into a temporary PostgreSQL only and changes nothing else.")
    var dryRun = false

    func run() async throws {
        umask(0o077)
        do {
            try await Interruption.cancellable { try await restore() }
        } catch let damage as DamagedBackup {
            FileHandle.standardError.write(Data("Error: \(damage)\nThe backup is damaged; nothing was changed.\n".utf8))
            throw ExitCode(2)
        }
    }

    private func restore() async throws {
        let backup = try BackupFolder(verifying: path)
        print("all checksums of the backup from \(backup.manifest.takenAt) match")
        guard !dryRun else {
            try await Restore.restoreTemporarily(backup, limit: timeoutOptions.limit, logger: RoostCommand.logger()) {
                print($0)
            }
            return print("the backup can be restored and is complete")
        }
        let workspace = try options.workspace()
        let settings = try SuiteSettings(workspace: workspace)
        for program in SuiteProgram.all {
            guard let key = program.encryptionKey, settings.encryptionKeys(of: program) == nil else { continue }
            throw Workspace.Problem(
                """
                \(key) is not set; without the key from the time of the backup, the encrypted data of \(program.name) \
                cannot be read. Copy the secrets.env of that time to \(workspace.folder), or set the variable
                """
            )
        }
        guard settings.databaseURL == nil else {
            return try await restore(backup, in: workspace, on: nil)
        }
        let server = PrivateServer(workspace: workspace, logger: RoostCommand.logger())
        try await server.withExclusiveServer { try await restore(backup, in: workspace, on: $0) }
    }

    private func restore(_ backup: BackupFolder, in workspace: Workspace, on server: PostgresServer?) async throws {
        let settings = try SuiteSettings(workspace: workspace, makingSecrets: true)
        let databases = SuiteDatabase(settings: settings, logger: RoostCommand.logger())
        if let server {
            try await databases.createDatabase(on: server)
        }
        let restore = Restore(
            backup: backup,
            databases: databases,
            administrators: try databases.administrators(on: server),
            limit: timeoutOptions.limit,
            logger: RoostCommand.logger(),
            report: { print($0) }
        )
        try await restore.run(replaces: replace) {
            try await databases.prepare(on: server, reporting: { print("roost: \($0)") })
        }
        if let files = backup.manifest.files {
            let uploads = settings.uploads(in: workspace)
            try UploadFolder(path: uploads).restore(backup)
            print("\(files.count) uploads are in \(uploads)")
        }
        print("the backup is restored and complete")
    }
}
