import ArgumentParser
import Foundation
import Glibc
import LocalPostgres

/// `roost restore`: a backup back where it came from, or somewhere else.
struct RestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Restores a backup into an empty database and counts what is there.",
        discussion: """
            First every byte of the backup is held to its checksum. The services must not run. Ends with 2 if the \
            backup is damaged, with 1 if something else is in the way; what, is said.
            """
    )

    @OptionGroup var options: WorkspaceOptions
    @OptionGroup var timeoutOptions: TimeoutOptions

    @Argument(help: "The folder that roost backup has made.")
    var path: String

    @Flag(help: "Drop what the services have in the database now.")
    var replace = false

    @Flag(help: "Restore into a PostgreSQL of its own that is gone afterwards; touch nothing else.")
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
        print("every part of the backup is as it was written, \(backup.manifest.takenAt)")
        guard !dryRun else {
            try await Restore.restoreTemporarily(backup, limit: timeoutOptions.limit, logger: RoostCommand.logger()) {
                print($0)
            }
            return print("the backup can be restored, and all of it is there")
        }
        let workspace = try options.workspace()
        let settings = try SuiteSettings(workspace: workspace)
        for program in SuiteProgram.all {
            guard let key = program.encryptionKey, settings.encryptionKeys(of: program) == nil else { continue }
            throw Workspace.Problem(
                """
                \(key) is not set. Without the key that was kept with the backup, what \(program.name) has encrypted \
                cannot be read: put the secrets.env of then into \(workspace.folder), or set the variable
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
        print("restored, and all of it is there")
    }
}
