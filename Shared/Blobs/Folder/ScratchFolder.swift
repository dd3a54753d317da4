import Foundation
import Glibc
public import NIOCore
public import NIOPosix

/// A folder for files of a process's own that are soon gone again: what is being looked at before it is kept.
///
/// It lies below a folder that processes may share. While its process lives it is locked; what a dead one has left, the
/// next one to be made there removes.
public final class ScratchFolder: Sendable {
    private let path: String
    private let lock: Int32
    private let blocking: BlockingWork

    /// Makes it, and removes what dead processes have left; works on files before it returns.
    ///
    /// - Parameters:
    ///   - parent: made if it is not there; nothing but such folders should be in it.
    ///   - threadPool: whose threads work on files; it must run for as long as the folder is used.
    /// - Throws: ``BlobError``, or what `FileManager` says about a folder that cannot be made.
    public init(in parent: String, threadPool: NIOThreadPool = .singleton) throws {
        blocking = BlockingWork(pool: threadPool)
        try FileManager.default.createDirectory(
            atPath: parent,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
        (path, lock) = try Self.make(in: parent)
        for name in FileSystem.names(in: parent) { Self.removeLeftover("\(parent)/\(name)") }
    }

    deinit {
        // Silence: what cannot be removed now, the next one removes.
        try? FileManager.default.removeItem(atPath: path)
        close(lock)
    }

    /// Lends a folder in it, which is gone afterwards with all that is in it.
    public func withTemporaryFolder<Value>(_ body: (_ path: String) async throws -> Value) async throws -> Value {
        let folder = "\(path)/\(BlobKey.random())"
        try await blocking { _ = try FileSystem.makeFolder(folder) }
        let outcome: Result<Value, any Error>
        do { outcome = .success(try await body(folder)) } catch { outcome = .failure(error) }
        // Silence: what is left is removed with the whole.
        await blocking.uncancellable { try? FileManager.default.removeItem(atPath: folder) }
        return try outcome.get()
    }

    /// Writes a file, as a blob is put into a store; it is there for who knows its path, and not brought to disk.
    ///
    /// - Returns: its size in bytes.
    /// - Throws: what `fill` throws, or a ``BlobError``.
    public func write(
        _ path: String,
        limit: Int64,
        _ fill: (any BlobSink) async throws -> Void
    ) async throws -> Int64 {
        let file = try await blocking { try ScratchFile(path) }
        let sink = ScratchSink(file: file, limit: limit, blocking: blocking)
        try await fill(sink)
        return try await sink.finish()
    }

    /// Hands on a file that is there, in pieces of at most ``BlobLimits/piece``.
    ///
    /// - Throws: what `consume` throws, or ``BlobError/failed(_:code:)``.
    public func read(_ path: String, _ consume: (ByteBuffer) async throws -> Void) async throws {
        guard let file = try await blocking({ try OpenFile(reading: path) }) else {
            throw BlobError.failed("open a file", code: ENOENT)
        }
        var position: Int64 = 0
        while position < file.size {
            let (start, count) = (position, Int(min(file.size - position, Int64(BlobLimits.piece))))
            let piece = try await blocking { try file.read(count, at: start) }
            position += Int64(piece.readableBytes)
            try await consume(piece)
        }
    }

    private static func make(in parent: String) throws -> (path: String, lock: Int32) {
        // Who removes leftovers may come between the making and the locking of a folder: then another is made.
        for _ in 0..<8 {
            let path = "\(parent)/\(BlobKey.random())"
            _ = try FileSystem.makeFolder(path)
            let lock = Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            guard lock >= 0 else { continue }
            var status = stat()
            if flock(lock, LOCK_EX | LOCK_NB) == 0, fstat(lock, &status) == 0, status.st_nlink > 0 {
                return (path, lock)
            }
            close(lock)
        }
        throw BlobError.failed("lock a folder", code: EWOULDBLOCK)
    }

    private static func removeLeftover(_ path: String) {
        let descriptor = Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        // Silence: the next one tries again.
        if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { try? FileManager.default.removeItem(atPath: path) }
    }
}

/// A file that is being written, closed when the last who has it lets go of it.
private final class ScratchFile: Sendable {
    private let descriptor: Int32

    init(_ path: String) throws {
        descriptor = Glibc.open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw BlobError(failing: "make a file", errno) }
    }

    deinit {
        close(descriptor)
    }

    func append(_ bytes: ByteBuffer) throws { try FileSystem.write(bytes, to: descriptor) }
}

private final class ScratchSink: BlobSink {
    private let file: ScratchFile
    private let limit: Int64
    private let blocking: BlockingWork
    private var buffered = ByteBuffer()
    private var size: Int64 = 0

    init(file: ScratchFile, limit: Int64, blocking: BlockingWork) {
        self.file = file
        self.limit = limit
        self.blocking = blocking
    }

    func write(_ bytes: ByteBuffer) async throws {
        guard Int64(bytes.readableBytes) <= limit - size else { throw BlobError.tooLarge(limit: limit) }
        size += Int64(bytes.readableBytes)
        buffered.writeImmutableBuffer(bytes)
        if buffered.readableBytes >= BlobLimits.buffered { _ = try await finish() }
    }

    func finish() async throws -> Int64 {
        guard buffered.readableBytes > 0 else { return size }
        let bytes = buffered
        try await blocking { [file] in try file.append(bytes) }
        buffered.clear()
        return size
    }
}
