import Foundation
import NIOCore
public import NIOPosix

/// Keeps each blob as a file in a folder.
///
/// A blob is written to a file under `incoming/`, brought to disk, and then renamed to `<two letters>/<key>`, and the
/// folder is brought to disk too. So what has a blob's name is whole. A process that dies leaves a file under `incoming/`
/// that nobody has locked any more; the next one removes it. Several processes may share a folder.
///
/// The folder and those in it are for their owner alone (0700, files 0600). Nothing blocks the thread that asks: all
/// work on files is done by the threads of a pool.
public struct FolderBlobStore: FileBlobStore {
    private let path: String
    private let blocking: BlockingWork

    /// Makes the folder if it is not there, sees that it can be written to, and removes what dead processes have left.
    ///
    /// It works on files before it returns: make a store when a process starts.
    ///
    /// - Parameters:
    ///   - path: of the folder; it may be relative to the working directory, which must then stay the same.
    ///   - threadPool: whose threads work on files; it must run for as long as the store is used.
    /// - Throws: ``BlobError``, or what `FileManager` says about a folder that cannot be made.
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

    /// What is not locked belongs to nobody who lives.
    private func removeLeftovers() {
        for name in FileSystem.names(in: incoming) { TemporaryFile.removeLeftover("\(incoming)/\(name)") }
    }
}

/// A blob's open file: it can be read to its end even after it was deleted.
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
