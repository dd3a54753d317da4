import Foundation

/// The error of a backup that is incomplete or has changed; nothing was restored from it.
struct DamagedBackup: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// A verified backup: every part has the checksum with which it was written.
struct BackupFolder: Sendable {
    static let manifestName = "manifest.json"
    /// In the format of `sha256sum --check`.
    static let checksumsName = "SHA256SUMS"
    static let filesName = "files"

    let path: String
    let manifest: BackupManifest

    /// Reads a backup and verifies every byte.
    ///
    /// - Throws: ``DamagedBackup`` when a part is missing or has changed.
    init(verifying path: String) throws {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), isFolder.boolValue else {
            throw Workspace.Problem("there is no backup at \(path); a backup is a folder")
        }
        self.path = path
        let manifestPath = "\(path)/\(Self.manifestName)"
        guard FileManager.default.fileExists(atPath: manifestPath) else {
            throw DamagedBackup("\(path) has no \(Self.manifestName)")
        }
        let data = try Data(contentsOf: URL(filePath: manifestPath))
        let sums = try Self.checksums("\(path)/\(Self.checksumsName)")
        guard sums[Self.manifestName] == Checksum.of(data) else {
            throw DamagedBackup("\(manifestPath) has changed since the backup: its checksum differs")
        }
        manifest = try Self.decode(data, path: manifestPath)
        for schema in manifest.schemas {
            try check(schema.archive)
        }
        if let files = manifest.files {
            try check(files.list)
            try check(files)
        }
    }

    func path(of name: String) -> String { "\(path)/\(name)" }

    /// Returns the checksums of the uploads, by path below `files/`.
    func listedFiles() throws -> [String: String] {
        guard let files = manifest.files else {
            return [:]
        }
        return try Self.checksums(path(of: files.list.name))
    }

    private static func decode(_ data: Data, path: String) throws -> BackupManifest {
        struct Format: Decodable {
            let format: Int
        }
        let decoder = JSONDecoder()
        // A failure is ignored: the full decoding below reports it.
        if let format = try? decoder.decode(Format.self, from: data).format, format > BackupManifest.currentFormat {
            throw Workspace.Problem(
                "\(path) was written by a newer release (format \(format)); this one reads up to "
                    + "\(BackupManifest.currentFormat)"
            )
        }
        do {
            return try decoder.decode(BackupManifest.self, from: data)
        } catch {
            throw DamagedBackup("\(path) is not a backup's manifest")
        }
    }

    private func check(_ part: BackedUpPart) throws {
        let file = path(of: part.name)
        guard FileManager.default.fileExists(atPath: file) else {
            throw DamagedBackup("\(file) is missing")
        }
        let found = try Checksum.of(file, as: part.name)
        guard found.bytes == part.bytes else {
            throw DamagedBackup("\(file) has \(found.bytes) bytes instead of \(part.bytes)")
        }
        guard found == part else {
            throw DamagedBackup("\(file) has changed since the backup: its checksum differs")
        }
    }

    private func check(_ files: BackedUpFiles) throws {
        let listed = try listedFiles()
        guard listed.count == files.count else {
            throw DamagedBackup("\(path(of: files.list.name)) lists \(listed.count) files instead of \(files.count)")
        }
        for (name, sum) in listed {
            let file = "\(path)/\(Self.filesName)/\(name)"
            guard FileManager.default.fileExists(atPath: file) else {
                throw DamagedBackup("\(file) is missing")
            }
            guard try Checksum.of(file, as: name).sha256 == sum else {
                throw DamagedBackup("\(file) has changed since the backup: its checksum differs")
            }
        }
    }

    /// Parses lines of a checksum, two spaces and a name.
    private static func checksums(_ path: String) throws -> [String: String] {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
            throw DamagedBackup("\(path) is missing")
        }
        var sums: [String: String] = [:]
        for line in text.split(separator: "\n") {
            guard line.count > 66, let separator = line.firstRange(of: "  ") else {
                throw DamagedBackup("\(path) is not a list of checksums")
            }
            sums[String(line[separator.upperBound...])] = String(line[..<separator.lowerBound])
        }
        return sums
    }
}
