import Crypto
import Foundation
import Glibc
import Logging
import Postgres

struct UploadFolder: Sendable {
    /// The services that store files, each in a folder of its own name.
    static let fileServices = ["conversations", "photos"]
    private static let listName = "files.sha256"

    let path: String

    /// Runs a body while no file is deleted that one of these databases refers to.
    ///
    /// The deletion of files takes the same advisory lock exclusively, and is postponed when the lock is in use.
    nonisolated(nonsending) static func withoutDeletions<Value: Sendable>(
        in urls: [String],
        limit: Duration,
        logger: Logger,
        _ body: nonisolated(nonsending) () async throws -> Value
    ) async throws -> Value {
        guard let url = urls.first else { return try await body() }
        let pool = try OperatorDatabase.pool(url, limit: limit, logger: logger)
        do {
            let value = try await pool.transaction { transaction in
                _ = try await transaction.execute("SELECT pg_advisory_xact_lock_shared(hashtext('roost files'))")
                return try await withoutDeletions(in: Array(urls.dropFirst()), limit: limit, logger: logger, body)
            }
            await pool.shutdown()
            return value
        } catch {
            await pool.shutdown()
            throw error
        }
    }

    /// Copies every file, and lists the copies with their checksums.
    ///
    /// A file that disappears during the copy was never in the database, or was removed from it before the snapshot.
    func copy(into draft: BackupDraft) throws -> BackedUpFiles {
        let target = draft.path(of: BackupFolder.filesName)
        var lines = ""
        var files = BackedUpFiles(list: BackedUpPart(name: Self.listName, bytes: 0, sha256: ""), count: 0, bytes: 0)
        for name in try names() {
            try Task.checkCancellation()
            guard let copied = try Self.copy("\(path)/\(name)", to: "\(target)/\(name)") else {
                continue
            }
            lines += "\(copied.sha256)  \(name)\n"
            files.count += 1
            files.bytes += copied.bytes
        }
        try draft.write(Data(lines.utf8), to: Self.listName)
        files.list = try Checksum.of(draft.path(of: Self.listName), as: Self.listName)
        return files
    }

    /// Copies the files of a backup into this folder; existing files are kept.
    func restore(_ backup: BackupFolder) throws {
        let source = backup.path(of: BackupFolder.filesName)
        let missing = try backup.listedFiles().keys.filter { !FileManager.default.fileExists(atPath: "\(path)/\($0)") }
        for name in missing.sorted() {
            try Task.checkCancellation()
            _ = try Self.copy("\(source)/\(name)", to: "\(path)/\(name)")
        }
    }

    /// Returns the paths of all files, except incomplete files in `incoming`.
    private func names() throws -> [String] {
        guard FileManager.default.fileExists(atPath: path) else {
            return []
        }
        guard let walk = FileManager.default.enumerator(atPath: path) else {
            throw Workspace.Problem("cannot list \(path)")
        }
        var names: [String] = []
        while let name = walk.nextObject() as? String {
            let isWhole = !name.split(separator: "/").dropLast().contains("incoming")
            guard isWhole, walk.fileAttributes?[.type] as? FileAttributeType == .typeRegular else {
                continue
            }
            names.append(name)
        }
        return names.sorted()
    }

    /// Copies one file completely or not at all; returns nil when the file no longer exists.
    private static func copy(_ source: String, to target: String) throws -> (bytes: Int, sha256: String)? {
        guard let input = FileHandle(forReadingAtPath: source) else {
            guard errno == ENOENT else {
                throw Workspace.Problem("cannot read \(source): \(String(cString: strerror(errno)))")
            }
            return nil
        }
        let url = URL(filePath: target)
        let folder = url.deletingLastPathComponent().path(percentEncoded: false)
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let unfinished = "\(folder).\(url.lastPathComponent).partial"
        let descriptor = open(unfinished, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw Workspace.Problem("cannot write \(unfinished): \(String(cString: strerror(errno)))")
        }
        let output = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var hash = SHA256()
        var bytes = 0
        do {
            while let piece = try input.read(upToCount: 1 << 20), !piece.isEmpty {
                hash.update(data: piece)
                bytes += piece.count
                try output.write(contentsOf: piece)
            }
            try output.synchronize()
        } catch {
            unlink(unfinished)
            throw Workspace.Problem("cannot copy \(source) to \(folder): \(error)")
        }
        guard rename(unfinished, target) == 0 else {
            throw Workspace.Problem("cannot write \(target): \(String(cString: strerror(errno)))")
        }
        return (bytes, Checksum.hex(hash.finalize()))
    }
}
