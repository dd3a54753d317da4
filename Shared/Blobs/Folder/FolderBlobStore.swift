import Foundation
import NIOCore
public import NIOPosix

/// A store that keeps each blob as a file in a folder.
///
/// A blob is written to a file under `incoming/`, flushed to disk, and renamed to `<two letters>/<key>`; then the
/// folder is flushed too. So a file with a blob's name is always complete. A crashed process leaves an unlocked file
/// under `incoming/`, which the next process removes. Several processes may share a folder.
///
/// Only the owner may read the folders (mode 0700) and files (0600). File operations run on a thread pool and do not
/// block the caller.
public struct FolderBlobStore: FileBlobStore {
    private let path: String
    private let blocking: BlockingWork

    /// Creates the folder if needed, checks that it is writable, and removes the files of crashed processes.
    ///
    /// The call blocks on file operations: create a store when the process starts.
    ///
    /// - Parameters:
    ///   - path: The folder's path; if it is relative, the working directory must not change.
    ///   - threadPool: The threads for file operations; the pool must run as long as the store is used.
    /// - Throws: ``BlobError``, or an error of `FileManager` if the folder cannot be created.
    public init(path: String, threadPool: NIOThreadPool = .singleton) throws {
        self.path = path
        blocking = BlockingWork(pool: threadPool)
        try FileManager.default.createDirectory(
            atPath: path,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
        _ = try FileSystem.makeFolder(incoming)
        removeLeftovers()
        try TemporaryFile(in: incoming).discard()
    }

    private var incoming: String { "\(path)/incoming" }

    public func put(
        _ key: BlobKey,
        limit: Int64,
        _ fill: (any BlobSink) async throws -> Void
    ) async throws -> StoredBlob {
        let incoming = incoming
        let temporary = try await blocking { try TemporaryFile(in: incoming) }
        let sink = FolderBlobSink(file: temporary, limit: limit, blocking: blocking)
        do {
            try await fill(sink)
            let stored = try await sink.finish()
            let (root, folder, name) = (path, folder(of: key), file(of: key))
            try await blocking { try temporary.publish(as: name, in: folder, below: root) }
            return stored
        } catch {
            sink.close()
            await blocking.uncancellable { temporary.discard() }
            throw error
        }
    }

    public func open(_ key: BlobKey) async throws -> (any Blob)? {
        let name = file(of: key)
        guard let file = try await blocking({ try OpenFile(reading: name) }) else { return nil }
        return FolderBlob(file: file, blocking: blocking)
    }

    public func openFile(_ key: BlobKey) throws -> CInt? { try FileSystem.open(reading: file(of: key)) }

    public func delete(_ key: BlobKey) async throws {
        let (folder, name) = (folder(of: key), file(of: key))
        try await blocking {
            guard try FileSystem.remove(name) else { return }
            try FileSystem.synchronize(folder: folder)
        }
    }

    private func folder(of key: BlobKey) -> String { "\(path)/\(key.folder)" }
    private func file(of key: BlobKey) -> String { "\(folder(of: key))/\(key)" }

    /// Removes files that no running process has locked.
    private func removeLeftovers() {
        for name in FileSystem.names(in: incoming) { TemporaryFile.removeLeftover("\(incoming)/\(name)") }
    }
}

/// An open file of a blob, which remains readable after the blob is deleted.
private struct FolderBlob: Blob {
    let file: OpenFile
    let blocking: BlockingWork

    var size: Int64 { file.size }

    func read(_ range: Range<Int64>, _ consume: (ByteBuffer) async throws -> Void) async throws {
        var position = max(range.lowerBound, 0)
        let end = min(range.upperBound, size)
        while position < end {
            let (start, count) = (position, Int(min(end - position, Int64(BlobLimits.piece))))
            let piece = try await blocking { [file] in try file.read(count, at: start) }
            position += Int64(piece.readableBytes)
            try await consume(piece)
        }
    }
}
