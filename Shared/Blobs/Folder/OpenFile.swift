import Glibc
import NIOCore

/// A file open for reading, closed with its last reference.
final class OpenFile: Sendable {
    private let descriptor: Int32
    /// The size in bytes.
    let size: Int64

    /// Opens a file; nil if it does not exist.
    init?(reading path: String) throws {
        guard let descriptor = try FileSystem.open(reading: path) else { return nil }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            let code = errno
            close(descriptor)
            throw BlobError(failing: "read the size of a file", code)
        }
        self.descriptor = descriptor
        size = Int64(status.st_size)
    }

    deinit {
        close(descriptor)
    }

    /// Reads at least one byte and at most `count`.
    func read(_ count: Int, at position: Int64) throws -> ByteBuffer {
        try FileSystem.read(count, of: descriptor, at: position)
    }
}
