import Glibc
import NIOCore

/// A file that is read from, closed when the last who has it lets go of it.
final class OpenFile: Sendable {
    private let descriptor: Int32
    /// In bytes.
    let size: Int64

    /// Nil where there is no such file.
    init?(reading path: String) throws {
        guard let descriptor = try FileSystem.open(reading: path) else { return nil }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            let code = errno
            close(descriptor)
            throw BlobError(failing: "look at a file", code)
        }
        self.descriptor = descriptor
        size = Int64(status.st_size)
    }

    deinit {
        close(descriptor)
    }

    /// At least one byte and at most `count`.
    func read(_ count: Int, at position: Int64) throws -> ByteBuffer {
        try FileSystem.read(count, of: descriptor, at: position)
    }
}
