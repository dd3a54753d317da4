import Foundation
import ServiceHost

/// A folder of small files, readable to their owner alone.
struct PrivateFolder: Sendable {
    let path: String

    /// Makes the folder where there is none.
    ///
    /// - Throws: `SettingError` where it cannot be.
    init(_ path: String) throws {
        self.path = path
        do {
            try FileManager.default.createDirectory(
                atPath: path,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
        } catch {
            throw SettingError("SANDBOX_FOLDER", "names the folder \(path), which cannot be made")
        }
    }

    /// A folder inside of it.
    func folder(_ name: String) throws -> PrivateFolder {
        try PrivateFolder("\(path)/\(name)")
    }

    /// What the file says; nil where there is none.
    func read(_ name: String) throws -> String? {
        let file = "\(path)/\(name)"
        guard FileManager.default.fileExists(atPath: file) else { return nil }
        return try String(contentsOfFile: file, encoding: .utf8)
    }

    /// Writes a file, whole or not at all.
    func write(_ text: String, to name: String) throws {
        let new = "\(path)/.\(name).new"
        let attributes: [FileAttributeKey: Any] = [.posixPermissions: 0o600]
        guard FileManager.default.createFile(atPath: new, contents: Data(text.utf8), attributes: attributes) else {
            throw SettingError("SANDBOX_FOLDER", "names the folder \(path), which cannot be written to")
        }
        guard rename(new, "\(path)/\(name)") == 0 else {
            throw SettingError("SANDBOX_FOLDER", "names the folder \(path), in which \(name) cannot be replaced")
        }
    }
}
