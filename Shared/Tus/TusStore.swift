public import Foundation

/// The storage of uploads that arrive in pieces.
///
/// ``TusRoutes`` implements the protocol and calls the store. Many tasks and several processes may use a store
/// concurrently: ``append(_:to:of:)`` must ensure that each piece begins at the end of the previous one.
///
/// The routes answer a thrown ``TusError`` according to the protocol; other errors are rethrown to the server.
public protocol TusStore<Owner>: Sendable {
    /// The owner of an upload, usually a user id.
    associatedtype Owner: Sendable

    /// Creates an upload; an upload of zero bytes is complete immediately.
    ///
    /// - Parameters:
    ///   - creation: The length and metadata.
    ///   - owner: The owner, the only client that may access the upload.
    /// - Returns: The upload, with offset 0.
    /// - Throws: ``TusError``, or an error of the store.
    func create(_ creation: TusCreation, by owner: Owner) async throws -> TusUpload

    /// Returns an existing upload.
    ///
    /// - Throws: ``TusError/notFound`` for an unknown upload or another owner's, ``TusError/gone`` for an expired one.
    func find(_ id: String, of owner: Owner) async throws -> TusUpload

    /// Appends the bytes at the upload's offset, if the offset is unchanged when all bytes have arrived.
    ///
    /// If the connection breaks, `body` ends early and its bytes are kept. If `body` throws, nothing is kept and the
    /// error is rethrown. After the last byte, the upload is complete.
    ///
    /// - Parameters:
    ///   - body: The bytes of a piece.
    ///   - upload: The upload, as returned by ``find(_:of:)`` or ``create(_:by:)``.
    ///   - owner: The upload's owner.
    /// - Returns: The upload with its new offset.
    /// - Throws: ``TusError/wrongOffset(is:)`` if another request appended a piece meanwhile.
    func append(_ body: TusBody, to upload: TusUpload, of owner: Owner) async throws -> TusUpload

    /// Removes an upload and its bytes.
    ///
    /// - Throws: The errors of ``find(_:of:)``.
    func remove(_ id: String, of owner: Owner) async throws
}

/// The properties of a new upload.
public struct TusCreation: Hashable, Sendable {
    /// The length in bytes.
    public var length: Int64
    /// The metadata that the client sent.
    public var metadata: TusMetadata

    /// Creates the properties of a new upload.
    public init(length: Int64, metadata: TusMetadata = TusMetadata()) {
        self.length = length
        self.metadata = metadata
    }
}

/// The state of an upload.
public struct TusUpload: Hashable, Sendable {
    /// The last segment of the upload's URL; its characters need no escaping in a path.
    public var id: String
    /// The length of the complete upload in bytes.
    public var length: Int64
    /// The number of stored bytes.
    public var offset: Int64
    /// The metadata that the client sent.
    public var metadata: TusMetadata
    /// The time at which the upload expires; nil if it does not.
    public var expires: Date?

    /// Creates a state.
    public init(
        id: String,
        length: Int64,
        offset: Int64,
        metadata: TusMetadata = TusMetadata(),
        expires: Date? = nil
    ) {
        self.id = id
        self.length = length
        self.offset = offset
        self.metadata = metadata
        self.expires = expires
    }

    /// Whether all bytes are stored.
    public var isWhole: Bool { offset == length }
}
