import Glibc
import NIOCore

/// A file that is being written under a random name, and is locked while its process runs.
struct TemporaryFile: Sendable {
    private let descriptor: Int32
    private let path: String

    init(in folder: String) throws {
        // Another process may remove the file between its creation and locking; then another file is created.
        for _ in 0..<8 {
            let path = "\(folder)/\(BlobKey.random())"
            let descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
            guard descriptor >= 0 else { throw BlobError(failing: "create a file", errno) }
            var status = stat()
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0, fstat(descriptor, &status) == 0, status.st_nlink == 1 {
                self.descriptor = descriptor
                self.path = path
                return
            }
            Glibc.close(descriptor)
        }
        throw BlobError.failed("lock a file", code: EWOULDBLOCK)
    }

    func append(_ bytes: ByteBuffer) throws { try FileSystem.write(bytes, to: descriptor) }

    /// Flushes the file and moves it to its final name; after an error, only ``discard()`` may be called.
    func publish(as name: String, in folder: String, below root: String) throws {
        guard fsync(descriptor) == 0 else { throw BlobError(failing: "flush a file to disk", errno) }
        if rename(path, name) != 0 {
            guard errno == ENOENT else { throw BlobError(failing: "rename a file", errno) }
            if try FileSystem.makeFolder(folder) { try FileSystem.synchronize(folder: root) }
            guard rename(path, name) == 0 else { throw BlobError(failing: "rename a file", errno) }
        }
        do {
            try FileSystem.synchronize(folder: folder)
        } catch {
            unlink(name)
            throw error
        }
        Glibc.close(descriptor)
    }

    func discard() {
        // Unlinked before closing: closing releases the lock, and another process could then remove the file.
        unlink(path)
        Glibc.close(descriptor)
    }

    /// Removes a file unless a running process has locked it.
    static func removeLeftover(_ path: String) {
        let descriptor = Glibc.open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return }
        defer { Glibc.close(descriptor) }
        if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { unlink(path) }
    }
}
