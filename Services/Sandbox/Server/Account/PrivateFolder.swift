import Foundation
import ServiceHost

/// A folder of small files that only their owner can read.
struct PrivateFolder: Sendable {
    let path: String

    /// Creates the folder when it does not exist.
    ///
    /// - Throws: `SettingError` when that fails.
    init(_ path: String) throws {
        self.path = path
        do {
            try FileManager.default.createDirectory(
                atPath: path,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
        } catch {
            throw SettingError("SANDBOX_FOLDER", "names the folder \(path), which cannot be created")
        }
    }

    func folder(_ name: String) throws -> PrivateFolder {
        try PrivateFolder("\(path)/\(name)")
    }

    /// Returns the text of a file, or nil when it does not exist.
    func read(_ name: String) throws -> String? {
        let file = "\(path)/\(name)"
        guard FileManager.default.fileExists(atPath: file) else { return nil }
        return try String(contentsOfFile: file, encoding: .utf8)
    }

    func write(_ text: String, to name: String) throws {
        let new = "\(path)/.\(name).new"
        let attributes: [FileAttributeKey: Any] = [.posixPermissions: 0o600]
        guard FileManager.default.createFile(atPath: new, contents: Data(text.utf8), attributes: attributes) else {
            throw SettingError("SANDBOX_FOLDER", "names the folder \(path), which is not writable")
        }
        guard rename(new, "\(path)/\(name)") == 0 else {
            throw SettingError("SANDBOX_FOLDER", "names the folder \(path), in which \(name) cannot be replaced")
        }
    }
}
