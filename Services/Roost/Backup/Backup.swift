import Foundation
import Logging
import Wire

/// Creates backups: every schema at one moment of its database, without stopping or delaying the services.
struct Backup: Sendable {
    /// The connection URL for each schema, by schema name.
    let databases: [String: String]
    let uploads: String?
    /// The time limit of one step.
    let limit: Duration
    let logger: Logger
    let report: @Sendable (String) -> Void

    /// Writes the backup into a draft and gives the draft its final name.
    func create(in draft: BackupDraft) async throws -> BackupManifest {
        do {
            let manifest = try await write(draft)
            try Task.checkCancellation()
            try draft.finish(manifest)
            return manifest
        } catch {
            draft.discard()
            throw error
        }
    }

    private func write(_ draft: BackupDraft) async throws -> BackupManifest {
        let fileServices = Set(UploadFolder.fileServices.compactMap { databases[$0] }).sorted()
        guard let uploads, !fileServices.isEmpty else {
            return BackupManifest(takenAt: Timestamp.string(from: Date()), schemas: try await dump(into: draft))
        }
        // The database is dumped before the files are copied, and no file is deleted meanwhile. The backup therefore
        // contains every file that the database refers to.
        return try await UploadFolder.withoutDeletions(in: fileServices, limit: limit, logger: logger) {
            let takenAt = Timestamp.string(from: Date())
            let schemas = try await dump(into: draft)
            let files = try UploadFolder(path: uploads).copy(into: draft)
            report("\(files.count) uploads, \(files.bytes / 1_024) kB")
            return BackupManifest(takenAt: takenAt, schemas: schemas, files: files)
        }
    }

    /// Dumps the schemas; the schemas of one database share one snapshot.
    private func dump(into draft: BackupDraft) async throws -> [BackedUpSchema] {
        var schemas: [BackedUpSchema] = []
        for (url, names) in Dictionary(grouping: databases.keys.sorted(), by: { databases[$0] ?? "" }) {
            schemas += try await DatabaseSnapshot.with(of: url, limit: limit, logger: logger) { snapshot in
                let program = try ArchiveTool.dump(server: snapshot.serverVersion, limit: limit)
                var schemas: [BackedUpSchema] = []
                for name in names {
                    if let schema = try await dump(name, of: url, in: snapshot, by: program, into: draft) {
                        schemas.append(schema)
                    }
                }
                return schemas
            }
        }
        guard !schemas.isEmpty else {
            throw Workspace.Problem("there is nothing to back up: no service has created a table yet")
        }
        return schemas.sorted { $0.name < $1.name }
    }

    /// Dumps one schema; returns nil for a schema without tables, whose service has never run.
    private nonisolated(nonsending) func dump(
        _ name: String,
        of url: String,
        in snapshot: DatabaseSnapshot,
        by program: ArchiveTool,
        into draft: BackupDraft
    ) async throws -> BackedUpSchema? {
        let contents = try await snapshot.contents(of: name)
        guard !contents.tables.isEmpty else {
            return nil
        }
        let archive = "\(name).dump"
        try await program.dump(name, of: url, in: snapshot.id, to: draft.path(of: archive))
        let schema = BackedUpSchema(
            name: name,
            serverVersion: snapshot.serverVersion,
            programVersion: program.majorVersion,
            archive: try Checksum.of(draft.path(of: archive), as: archive),
            migrations: contents.migrations,
            tables: contents.tables
        )
        report("\(name): \(schema.rows) rows in \(schema.tables.count) tables, \(schema.archive.bytes / 1_024) kB")
        return schema
    }
}
