import ChildProcesses
import Foundation
import Glibc

/// A backup in progress, in a separate folder beside its destination until it is complete.
struct BackupDraft: Sendable {
    let destination: String
    let folder: String

    /// Starts a backup at a free path, or inside an existing folder under a name that contains the time.
    init(at path: String, now: Date = Date()) throws {
        var destination = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
        var isFolder: ObjCBool = false
        if FileManager.default.fileExists(atPath: destination, isDirectory: &isFolder) {
            guard isFolder.boolValue else {
                throw Workspace.Problem("\(destination) already exists; a backup does not overwrite files")
            }
            destination += "/roost-\(Self.stamp(now))"
        }
        let url = URL(filePath: destination)
        let parent = url.deletingLastPathComponent().path(percentEncoded: false)
        guard let process = ProcessIdentity.current else {
            throw Workspace.Problem("/proc cannot be read")
        }
        Self.removeAbandoned(in: parent)
        self.destination = destination
        let name = ".\(url.lastPathComponent).\(process.pid)-\(process.startTime).partial"
        folder = parent + name
        guard mkdir(folder, 0o700) == 0 else {
            throw Workspace.Problem("cannot create a folder in \(parent): \(String(cString: strerror(errno)))")
        }
    }

    func path(of name: String) -> String { "\(folder)/\(name)" }

    func write(_ data: Data, to name: String) throws {
        let descriptor = open(path(of: name), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw Workspace.Problem("cannot write \(path(of: name)): \(String(cString: strerror(errno)))")
        }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        try file.write(contentsOf: data)
        try file.synchronize()
    }

    /// Writes the manifest and the checksums, flushes everything to disk, and renames the folder to its final name.
    func finish(_ manifest: BackupManifest) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let data = try encoder.encode(manifest) + Data("\n".utf8)
        try write(data, to: BackupFolder.manifestName)
        let parts = manifest.schemas.map(\.archive) + (manifest.files.map { [$0.list] } ?? [])
        let sums =
            parts.map { "\($0.sha256)  \($0.name)\n" }
            + ["\(Checksum.of(data))  \(BackupFolder.manifestName)\n"]
        try write(Data(sums.joined().utf8), to: BackupFolder.checksumsName)
        try Self.synchronize(folder)
        // `rename` fails when the name has been taken meanwhile, except by an empty folder.
        guard rename(folder, destination) == 0 else {
            throw Workspace.Problem("cannot rename the backup to \(destination): \(String(cString: strerror(errno)))")
        }
        try Self.synchronize(URL(filePath: destination).deletingLastPathComponent().path(percentEncoded: false))
    }

    func discard() {
        // A failure is ignored: the next backup to the same folder removes the rest.
        try? FileManager.default.removeItem(atPath: folder)
    }

    static func synchronize(_ folder: String) throws {
        let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw Workspace.Problem("cannot open \(folder): \(String(cString: strerror(errno)))")
        }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else {
            throw Workspace.Problem("cannot flush \(folder): \(String(cString: strerror(errno)))")
        }
    }

    /// Removes the drafts of backups that were killed.
    private static func removeAbandoned(in parent: String) {
        // Failures are ignored: if the folder is not accessible, the backup itself reports it.
        for name in (try? FileManager.default.contentsOfDirectory(atPath: parent)) ?? [] {
            let parts = name.split(separator: ".", omittingEmptySubsequences: false)
            guard name.hasPrefix("."), parts.count >= 4, parts.last == "partial" else {
                continue
            }
            let identity = parts[parts.count - 2].split(separator: "-")
            guard identity.count == 2, let pid = Int32(identity[0]), let startTime = UInt64(identity[1]),
                !ProcessIdentity(pid: pid, startTime: startTime).isAlive
            else {
                continue
            }
            try? FileManager.default.removeItem(atPath: "\(parent)/\(name)")
        }
    }

    /// Returns a time as part of a file name: `2026-11-21T04-40-18Z`.
    private static func stamp(_ date: Date) -> String {
        date.formatted(Date.ISO8601FormatStyle()).replacing(":", with: "-")
    }
}
