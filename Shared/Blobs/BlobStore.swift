public import NIOCore

/// Keeps bytes under keys: written once as a stream, read whole or in parts, deleted.
///
/// A blob is all there or not there at all: until ``put(_:limit:_:)`` returns, nobody can read a byte of it, and once it
/// has returned, the bytes survive a crash of the machine. Blobs never change, so two who read one see the same.
///
/// ```swift
/// let store: any BlobStore = try FolderBlobStore(path: "/var/lib/app/blobs")
/// let key = BlobKey.random()
/// let stored = try await store.put(key, limit: 20 << 20) { sink in
///     for try await buffer in body { try await sink.write(buffer) }
/// }
/// print(stored.size, stored.mediaType)
/// ```
///
/// What a store holds and nobody refers to any more is not found by the store itself: note a key where it will be found
/// again (a row in a database, say) *before* the blob is put, and take the note away after it is deleted.
public protocol BlobStore: Sendable {
    /// Takes in what `fill` writes, and keeps it under `key`.
    ///
    /// If `fill` throws, nothing is kept, and its error is thrown on. Use a new key for each blob: what happens to an
    /// older one under the same key is not said.
    ///
    /// - Parameters:
    ///   - key: where it is to be found.
    ///   - limit: how many bytes it may have; the write that goes past it throws ``BlobError/tooLarge(limit:)``.
    ///   - fill: writes the bytes in their order; the sink must not be used after it has returned.
    /// - Returns: how much was written, and what it is by its bytes.
    /// - Throws: what `fill` throws, or a ``BlobError``.
    func put(_ key: BlobKey, limit: Int64, _ fill: (any BlobSink) async throws -> Void) async throws -> StoredBlob

    /// A blob to read from; nil where there is none under this key.
    ///
    /// What is being read may be deleted meanwhile: a ``FolderBlobStore`` still gives it to its end, from an
    /// ``S3BlobStore`` reading it may fail.
    ///
    /// - Throws: ``BlobError/unavailable(_:)``, ``BlobError/failed(_:code:)``.
    func open(_ key: BlobKey) async throws -> (any Blob)?

    /// Deletes the blob under this key, if there is one.
    ///
    /// Once it has returned, the blob does not come back, not after a crash either; nor is anything left of one that was
    /// being put when its process died.
    ///
    /// - Throws: ``BlobError/unavailable(_:)``, ``BlobError/failed(_:code:)``; the blob may then be there or not.
    func delete(_ key: BlobKey) async throws
}

/// A store whose blobs are files, which the system can send by itself (`sendfile(2)`).
public protocol FileBlobStore: BlobStore {
    /// A blob's file, for who has only its number to use and closes it; nil where there is no such blob.
    ///
    /// It blocks for as long as the file system takes to find a file: not at all for one that was read a moment ago.
    ///
    /// - Throws: ``BlobError/failed(_:code:)``.
    func openFile(_ key: BlobKey) throws -> CInt?
}

/// Takes in the bytes of one blob, in order, from one task.
public protocol BlobSink {
    /// Returns when there is room for more: who waits for it holds back the source of the bytes.
    ///
    /// - Throws: a ``BlobError``; the blob will then not be kept, whatever is written after.
    func write(_ bytes: ByteBuffer) async throws
}

/// A blob that is there.
public protocol Blob: Sendable {
    /// In bytes.
    var size: Int64 { get }

    /// Hands on a part of the bytes, in pieces of at most ``BlobLimits/piece``, one at a time.
    ///
    /// The next piece is read when `consume` has returned, so a slow consumer costs one piece of memory.
    ///
    /// - Parameters:
    ///   - range: which bytes; what lies outside of the blob is left out.
    ///   - consume: takes each piece in turn.
    /// - Throws: what `consume` throws, ``BlobError/unavailable(_:)`` or ``BlobError/failed(_:code:)``.
    func read(_ range: Range<Int64>, _ consume: (ByteBuffer) async throws -> Void) async throws
}

/// What was put into a store.
public struct StoredBlob: Hashable, Sendable {
    /// In bytes.
    public let size: Int64
    /// What it is by its bytes, as ``MediaTypeDetector`` tells it.
    public let mediaType: String

    public init(size: Int64, mediaType: String) {
        self.size = size
        self.mediaType = mediaType
    }
}

/// How much memory a blob on its way takes.
public enum BlobLimits {
    /// The most that is read at a time, in bytes.
    public static let piece = 65_536
    /// The most that a sink holds back before it writes, in bytes.
    public static let buffered = 131_072
}

/// Why a store could not do what it was asked.
public enum BlobError: Error, Hashable, CustomStringConvertible {
    /// More was written than the limit allows.
    case tooLarge(limit: Int64)
    /// The disk, or what of it one may use, is full.
    case noSpace
    /// The store does not answer, or not us; the reason is for an operator. Nothing was wrong with the blob.
    case unavailable(String)
    /// Anything else: what was tried, and the system's `errno` or the status of the answer.
    case failed(String, code: Int32)

    public var description: String {
        switch self {
        case .tooLarge(let limit): "more than \(limit) bytes"
        case .noSpace: "no space left"
        case .unavailable(let reason): "the store is away: \(reason)"
        case .failed(let what, let code): "cannot \(what): error \(code)"
        }
    }
}
