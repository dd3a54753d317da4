public import NIOCore

/// A store of blobs under keys; a blob is written once as a stream, read whole or in parts, and deleted.
///
/// Writing is atomic: before ``put(_:limit:_:)`` returns, no reader sees a byte of the blob; afterwards, the bytes
/// survive a crash of the machine. Blobs are immutable, so all readers of a blob receive the same bytes.
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
/// A store cannot find blobs that the application no longer refers to. Therefore record a key durably, for example in a
/// database row, *before* putting the blob, and remove the record after deleting it.
public protocol BlobStore: Sendable {
    /// Stores the bytes that `fill` writes under `key`.
    ///
    /// If `fill` throws, nothing is stored and the error is rethrown. Use a new key for each blob: the result of
    /// putting a second blob under a key is undefined.
    ///
    /// - Parameters:
    ///   - key: The blob's key.
    ///   - limit: The largest size in bytes; the write that exceeds it throws ``BlobError/tooLarge(limit:)``.
    ///   - fill: Writes the bytes in order; the sink must not be used after it returns.
    /// - Returns: The blob's size and detected media type.
    /// - Throws: The error of `fill`, or ``BlobError``.
    func put(_ key: BlobKey, limit: Int64, _ fill: (any BlobSink) async throws -> Void) async throws -> StoredBlob

    /// Opens a blob for reading.
    ///
    /// If the blob is deleted while it is read, a ``FolderBlobStore`` still delivers all of it; an ``S3BlobStore`` may
    /// fail.
    ///
    /// - Returns: The blob, or nil if there is none under this key.
    ///
    /// - Throws: ``BlobError/unavailable(_:)``, ``BlobError/failed(_:code:)``.
    func open(_ key: BlobKey) async throws -> (any Blob)?

    /// Deletes the blob under this key, if there is one.
    ///
    /// The deletion survives a crash. It also removes the remains of a put whose process crashed.
    ///
    /// - Throws: ``BlobError/unavailable(_:)``, ``BlobError/failed(_:code:)``; then the blob may or may not exist.
    func delete(_ key: BlobKey) async throws
}

/// A store whose blobs are files, which the kernel can send directly (`sendfile(2)`).
public protocol FileBlobStore: BlobStore {
    /// Opens the file of a blob; the caller closes the descriptor.
    ///
    /// The call blocks while the file system looks up the file; a file in the cache takes no disk access.
    ///
    /// - Returns: A file descriptor for reading, or nil if there is no such blob.
    ///
    /// - Throws: ``BlobError/failed(_:code:)``.
    func openFile(_ key: BlobKey) throws -> CInt?
}

/// The destination of a blob's bytes, written in order by one task.
public protocol BlobSink {
    /// Writes the next bytes; returns when the sink can accept more, which slows down the source.
    ///
    /// - Throws: ``BlobError``; the blob is then not stored, even if later writes succeed.
    func write(_ bytes: ByteBuffer) async throws
}

/// A stored blob that is open for reading.
public protocol Blob: Sendable {
    /// The size in bytes.
    var size: Int64 { get }

    /// Reads a range of the blob in pieces of at most ``BlobLimits/piece`` bytes.
    ///
    /// The next piece is read after `consume` has returned, so a slow consumer takes the memory of one piece.
    ///
    /// - Parameters:
    ///   - range: The bytes to read; the part outside the blob is ignored.
    ///   - consume: Receives each piece in order.
    /// - Throws: The error of `consume`, ``BlobError/unavailable(_:)`` or ``BlobError/failed(_:code:)``.
    func read(_ range: Range<Int64>, _ consume: (ByteBuffer) async throws -> Void) async throws
}

/// The properties of a blob that was put into a store.
public struct StoredBlob: Hashable, Sendable {
    /// The size in bytes.
    public let size: Int64
    /// The media type detected by ``MediaTypeDetector``.
    public let mediaType: String

    /// Creates a result of ``BlobStore/put(_:limit:_:)``.
    public init(size: Int64, mediaType: String) {
        self.size = size
        self.mediaType = mediaType
    }
}

/// The memory limits of reading and writing blobs.
public enum BlobLimits {
    /// The largest piece of a read, in bytes.
    public static let piece = 65_536
    /// The most bytes that a sink buffers before writing.
    public static let buffered = 131_072
}

/// The error of a blob store.
public enum BlobError: Error, Hashable, CustomStringConvertible {
    /// The blob is larger than the limit in bytes.
    case tooLarge(limit: Int64)
    /// The disk or the quota is full.
    case noSpace
    /// The store does not answer or refuses access; the blob is not the cause. The reason is for operators.
    case unavailable(String)
    /// Another failure: the operation, with the system's `errno` or the HTTP status of the response.
    case failed(String, code: Int32)

    public var description: String {
        switch self {
        case .tooLarge(let limit): "the blob is larger than \(limit) bytes"
        case .noSpace: "no space is left in the blob store"
        case .unavailable(let reason): "the blob store is unavailable: \(reason)"
        case .failed(let what, let code): "cannot \(what): error \(code)"
        }
    }
}
