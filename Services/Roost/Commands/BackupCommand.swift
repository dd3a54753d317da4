import ArgumentParser
import Foundation
import Glibc
import LocalPostgres

/// `roost backup`: everything that must not be lost, while everything runs.
struct BackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Backs up every schema, and the uploads, while the suite runs.",
        discussion: """
            The backup is a folder with an archive of each schema, all of one moment, a manifest that says what is in \
            it, and checksums. It has its name once it is whole. The secrets are not in it: keep \
            AUTH_TOKEN_ENCRYPTION_KEY and SOCIAL_TOKEN_ENCRYPTION_KEY apart from it.
            """
    )

    @OptionGroup var options: WorkspaceOptions
    @OptionGroup var timeoutOptions: TimeoutOptions

    @Argument(help: "The folder to make; in one that is there, it is named for the time.")
    var path: String

    @Flag(help: "Restore it into a PostgreSQL of its own afterwards, and count.")
    var verify = false

    func run() async throws {
        // Whatever is written here, by pg_dump too, is its owner's alone.
        umask(0o077)
        try await Interruption.cancellable { try await take() }
    }

    private func take() async throws {
        let workspace = try options.workspace()
        let settings = try SuiteSettings(workspace: workspace)
        let database = SuiteDatabase(settings: settings, logger: RoostCommand.logger())
        let uploads = settings.uploads(in: workspace)
        let draft = try BackupDraft(at: path)
        do {
            if settings.databaseURL == nil {
                guard FileManager.default.fileExists(atPath: "\(workspace.postgres)/data") else {
                    throw Workspace.Problem("there is nothing to back up: no DATABASE_URL, and roost up has never run")
                }
                let server = PrivateServer(workspace: workspace, logger: RoostCommand.logger())
                try await server.withRunningServer {
                    try await take(draft, of: database.administrators(on: $0), uploads)
                }
            } else {
                try await take(draft, of: database.administrators(), uploads)
            }
        } catch {
            draft.discard()
            throw error
        }
        print("the backup is \(draft.destination)")
        guard verify else {
            return
        }
        print("restoring it into a PostgreSQL of its own")
        let backup = try BackupFolder(verifying: draft.destination)
        try await Restore.restoreTemporarily(backup, limit: timeoutOptions.limit, logger: RoostCommand.logger()) {
            print($0)
        }
        print("the backup can be restored, and all of it is there")
    }

    private func take(_ draft: BackupDraft, of databases: [String: String], _ uploads: String) async throws {
        let backup = Backup(
            databases: databases,
            uploads: FileManager.default.fileExists(atPath: uploads) ? uploads : nil,
            limit: timeoutOptions.limit,
            logger: RoostCommand.logger(),
            report: { print($0) }
        )
        _ = try await backup.take(into: draft)
    }
}

/// How long a backup or a restore may take.
struct TimeoutOptions: ParsableArguments {
    @Option(help: "Minutes that one step may take.")
    var timeout = 720

    var limit: Duration { .seconds(60 * timeout) }

    func validate() throws {
        guard 1...10_080 ~= timeout else {
            throw ValidationError("--timeout is in minutes, 1 to 10080.")
        }
    }
}
