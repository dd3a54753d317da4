import ArgumentParser
import Foundation
import Glibc
import LocalPostgres

struct BackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Backs up every schema, and the uploads, while the suite runs.",
        discussion: """
            The backup is a folder with an archive of each schema, all from one moment, a manifest and checksums. It \
            gets its final name when it is complete. It does not contain the secrets: store AUTH_TOKEN_ENCRYPTION_KEY \
            and SOCIAL_TOKEN_ENCRYPTION_KEY separately.
            """
    )

    @OptionGroup var options: WorkspaceOptions
    @OptionGroup var timeoutOptions: TimeoutOptions

    @Argument(help: "The folder to create; an existing folder gets a subfolder named by the time.")
    var path: String

    @Flag(help: "Restores the backup into a temporary PostgreSQL afterwards and counts the rows.")
    var verify = false

    func run() async throws {
        // All files of a backup, including those of `pg_dump`, are readable only by their owner.
        umask(0o077)
        try await Interruption.cancellable { try await writeBackup() }
    }

    private func writeBackup() async throws {
        let workspace = try options.workspace()
        let settings = try SuiteSettings(workspace: workspace)
        let database = SuiteDatabase(settings: settings, logger: RoostCommand.logger())
        let uploads = settings.uploads(in: workspace)
        let draft = try BackupDraft(at: path)
        do {
            if settings.databaseURL == nil {
                guard FileManager.default.fileExists(atPath: "\(workspace.postgres)/data") else {
                    throw Workspace.Problem("nothing to back up: DATABASE_URL is not set and roost up has never run")
                }
                let server = PrivateServer(workspace: workspace, logger: RoostCommand.logger())
                try await server.withRunningServer {
                    try await writeBackup(draft, of: database.administrators(on: $0), uploads)
                }
            } else {
                try await writeBackup(draft, of: database.administrators(), uploads)
            }
        } catch {
            draft.discard()
            throw error
        }
        print("the backup is in \(draft.destination)")
        guard verify else {
            return
        }
        print("restoring it into a temporary PostgreSQL")
        let backup = try BackupFolder(verifying: draft.destination)
        try await Restore.restoreTemporarily(backup, limit: timeoutOptions.limit, logger: RoostCommand.logger()) {
            print($0)
        }
        print("the backup can be restored and is complete")
    }

    private func writeBackup(_ draft: BackupDraft, of databases: [String: String], _ uploads: String) async throws {
        let backup = Backup(
            databases: databases,
            uploads: FileManager.default.fileExists(atPath: uploads) ? uploads : nil,
            limit: timeoutOptions.limit,
            logger: RoostCommand.logger(),
            report: { print($0) }
        )
        _ = try await backup.create(in: draft)
    }
}

struct TimeoutOptions: ParsableArguments {
    @Option(help: "The time limit of one step in minutes.")
    var timeout = 720

    var limit: Duration { .seconds(60 * timeout) }

    func validate() throws {
        guard 1...10_080 ~= timeout else {
            throw ValidationError("--timeout must be 1 to 10080 minutes")
        }
    }
}
