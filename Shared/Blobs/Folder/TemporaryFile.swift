import Glibc
import NIOCore

/// A file that is being written and that nobody else will find: locked for as long as its process lives.
struct TemporaryFile: Sendable {
    private let descriptor: Int32
    private let path: String

    init(in folder: String) throws {
        // Who removes leftovers may come between the making and the locking of a file: then another is made.
        for _ in 0..<8 {
            let path = "\(folder)/\(BlobKey.random())"
            let descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
            guard descriptor >= 0 else { throw BlobError(failing: "make a file", errno) }
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

    /// Brings all to disk, and gives it its name there; after this, or after an error, only ``discard()`` is left.
    func publish(as name: String, in folder: String, below root: String) throws {
        guard fsync(descriptor) == 0 else { throw BlobError(failing: "bring a file to disk", errno) }
        if rename(path, name) != 0 {
            guard errno == ENOENT else { throw BlobError(failing: "name a file", errno) }
            if try FileSystem.makeFolder(folder) { try FileSystem.synchronize(folder: root) }
            guard rename(path, name) == 0 else { throw BlobError(failing: "name a file", errno) }
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
        // First the name, since without the lock it would be anybody's.
        unlink(path)
        Glibc.close(descriptor)
    }

    /// Removes a file that a process has left, and none that one is writing.
    static func removeLeftover(_ path: String) {
        let descriptor = Glibc.open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return }
        defer { Glibc.close(descriptor) }
        if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { unlink(path) }
    }
}
