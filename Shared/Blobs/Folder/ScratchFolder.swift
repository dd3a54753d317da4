import Foundation
import Glibc
public import NIOCore
public import NIOPosix

/// A folder for a process's temporary files, such as uploads that are checked before they are stored.
///
/// It is created in a parent folder that processes may share, and is locked while its process runs. A new scratch
/// folder removes the unlocked folders of crashed processes.
public final class ScratchFolder: Sendable {
    private let path: String
    private let lock: Int32
    private let blocking: BlockingWork

    /// Creates the folder and removes those of crashed processes; blocks on file operations.
    ///
    /// - Parameters:
    ///   - parent: The parent folder, created if needed; it must contain nothing but scratch folders.
    ///   - threadPool: The threads for file operations; the pool must run as long as the folder is used.
    /// - Throws: ``BlobError``, or an error of `FileManager` if the folder cannot be created.
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
        // If the removal fails, the next scratch folder removes this one.
        try? FileManager.default.removeItem(atPath: path)
        close(lock)
    }

    /// Runs `body` with a new folder, which is removed afterwards with its content.
    ///
    /// - Throws: The error of `body`, or ``BlobError``.
    public func withTemporaryFolder<Value>(_ body: (_ path: String) async throws -> Value) async throws -> Value {
        let folder = "\(path)/\(BlobKey.random())"
        try await blocking { _ = try FileSystem.makeFolder(folder) }
        let outcome: Result<Value, any Error>
        do { outcome = .success(try await body(folder)) } catch { outcome = .failure(error) }
        // If the removal fails, the folder is removed together with the scratch folder.
        await blocking.uncancellable { try? FileManager.default.removeItem(atPath: folder) }
        return try outcome.get()
    }

    /// Writes a file through a sink, as in ``BlobStore/put(_:limit:_:)``, but without flushing it to disk.
    ///
    /// - Parameters:
    ///   - path: The path of the new file.
    ///   - limit: The largest size in bytes.
    ///   - fill: Writes the bytes in order.
    /// - Returns: The file's size in bytes.
    /// - Throws: The error of `fill`, or ``BlobError``.
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

    /// Reads a file in pieces of at most ``BlobLimits/piece`` bytes.
    ///
    /// - Parameters:
    ///   - path: The path of an existing file.
    ///   - consume: Receives each piece in order.
    /// - Throws: The error of `consume`, or ``BlobError/failed(_:code:)``.
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
        // Another process may remove the folder between its creation and locking; then another folder is created.
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
        // If the removal fails, the next scratch folder tries again.
        if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { try? FileManager.default.removeItem(atPath: path) }
    }
}

/// A file open for writing, closed with its last reference.
private final class ScratchFile: Sendable {
    private let descriptor: Int32

    init(_ path: String) throws {
        descriptor = Glibc.open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw BlobError(failing: "create a file", errno) }
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
