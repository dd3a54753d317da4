import Foundation

/// A file system in memory of a megabyte, which is soon full; only root can mount one.
package enum SmallDisk {
    package static let isPossible: Bool = {
        // Being root is not all: a sandbox may still say no.
        guard geteuid() == 0, let path = try? mount(files: 8) else { return false }
        unmount(path)
        return true
    }()

    /// Lends the path of a folder on it.
    package static func with(files: Int = 1_000, _ body: (String) async throws -> Void) async throws {
        let path = try mount(files: files)
        defer { unmount(path) }
        try await body(path + "/folder")
    }

    private static func mount(files: Int) throws -> String {
        let path = NSTemporaryDirectory() + "disk-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        guard run("mount", "-t", "tmpfs", "-o", "size=1m,nr_inodes=\(files)", "tmpfs", path) == 0 else {
            try FileManager.default.removeItem(atPath: path)
            throw TestSupportError("no file system can be mounted here")
        }
        return path
    }

    private static func unmount(_ path: String) {
        // At once out of sight, even while something is open there.
        _ = run("umount", "--lazy", path)
        rmdir(path)
    }

    private static func run(_ command: String...) -> Int32 {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = command
        process.standardError = FileHandle.nullDevice
        // Silence: what cannot be run has failed.
        guard (try? process.run()) != nil else { return -1 }
        process.waitUntilExit()
        return process.terminationStatus
    }
}
