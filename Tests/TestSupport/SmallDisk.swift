import Foundation

/// A file system of one megabyte in memory, for tests of a full disk, which only root can mount.
package enum SmallDisk {
    package static let isPossible: Bool = {
        // A sandboxed environment can forbid mounts even to root.
        guard geteuid() == 0, let path = try? mount(files: 8) else { return false }
        unmount(path)
        return true
    }()

    /// Runs `body` with the path of a folder on the file system.
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
        // A lazy unmount succeeds even while files are open.
        _ = run("umount", "--lazy", path)
        rmdir(path)
    }

    private static func run(_ command: String...) -> Int32 {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = command
        process.standardError = FileHandle.nullDevice
        // A command that cannot start counts as failed.
        guard (try? process.run()) != nil else { return -1 }
        process.waitUntilExit()
        return process.terminationStatus
    }
}
