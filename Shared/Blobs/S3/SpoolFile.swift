import Glibc
import NIOCore

/// An unlinked file for a part until it is sent; the kernel removes it when the process ends.
final class SpoolFile: Sendable {
    private let descriptor: Int32

    init(in folder: String) throws {
        let path = "\(folder)/\(BlobKey.random())"
        descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw BlobError(failing: "create a file", errno) }
        unlink(path)
    }

    deinit {
        close(descriptor)
    }

    func append(_ bytes: ByteBuffer) throws { try FileSystem.write(bytes, to: descriptor) }

    /// Reads at least one byte and at most `count`.
    func read(_ count: Int, at position: Int64) throws -> ByteBuffer {
        try FileSystem.read(count, of: descriptor, at: position)
    }

    /// Truncates the file, which frees its disk space.
    func clear() throws {
        guard ftruncate(descriptor, 0) == 0, lseek(descriptor, 0, SEEK_SET) == 0 else {
            throw BlobError(failing: "truncate a file", errno)
        }
    }
}

/// The first bytes of a file as a sequence of pieces, which may be read repeatedly.
struct SpooledBytes: AsyncSequence, Sendable {
    typealias Element = ByteBuffer

    let file: SpoolFile
    /// The size in bytes.
    let size: Int64
    let blocking: BlockingWork

    func makeAsyncIterator() -> Iterator { Iterator(bytes: self) }

    struct Iterator: AsyncIteratorProtocol {
        fileprivate let bytes: SpooledBytes
        private var position: Int64 = 0

        fileprivate init(bytes: SpooledBytes) {
            self.bytes = bytes
        }

        mutating func next() async throws -> ByteBuffer? {
            guard position < bytes.size else { return nil }
            let (file, start) = (bytes.file, position)
            let count = Int(Swift.min(bytes.size - start, Int64(BlobLimits.piece)))
            let piece = try await bytes.blocking { try file.read(count, at: start) }
            position += Int64(piece.readableBytes)
            return piece
        }
    }
}
