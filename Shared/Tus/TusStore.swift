public import Foundation

/// Keeps uploads that come in pieces, each an owner's.
///
/// ``TusRoutes`` speaks the protocol and asks a store to do what it says. A store may be used by many at once, and by
/// several processes: that a piece goes exactly where the last one ended is for ``append(_:to:of:)`` to see to.
///
/// What it throws, the routes answer: a ``TusError`` as the protocol says, anything else as the server does elsewhere.
public protocol TusStore<Owner>: Sendable {
    /// Who uploads.
    associatedtype Owner: Sendable

    /// Begins an upload; one of no bytes is whole at once.
    func create(_ creation: TusCreation, by owner: Owner) async throws -> TusUpload

    /// An upload that was begun.
    ///
    /// - Throws: ``TusError/notFound`` for one that never was or is another's, ``TusError/gone`` for one that has expired.
    func find(_ id: String, of owner: Owner) async throws -> TusUpload

    /// Takes the bytes from the upload's offset on, and keeps them if the offset is still that when they have come.
    ///
    /// What came before a connection broke off is kept too: `body` just ends there. If `body` throws, nothing of it is
    /// kept, and its error is thrown on. With its last byte the upload is whole.
    ///
    /// - Returns: the upload, with its new offset.
    /// - Throws: ``TusError/wrongOffset(is:)`` where another was quicker.
    func append(_ body: TusBody, to upload: TusUpload, of owner: Owner) async throws -> TusUpload

    /// Ends an upload and forgets what it had.
    ///
    /// - Throws: as ``find(_:of:)``.
    func remove(_ id: String, of owner: Owner) async throws
}

/// What somebody asks to upload.
public struct TusCreation: Hashable, Sendable {
    /// In bytes.
    public var length: Int64
    /// By its keys; a key without a value has none.
    public var metadata: TusMetadata

    public init(length: Int64, metadata: TusMetadata = TusMetadata()) {
        self.length = length
        self.metadata = metadata
    }
}

/// An upload that was begun.
public struct TusUpload: Hashable, Sendable {
    /// The last part of its URL: characters that a path takes as they are.
    public var id: String
    /// How many bytes it will have.
    public var length: Int64
    /// How many of them are kept.
    public var offset: Int64
    /// What its creator said about it.
    public var metadata: TusMetadata
    /// When it will be gone; nil where it stays.
    public var expires: Date?

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

    /// Whether nothing is missing.
    public var isWhole: Bool { offset == length }
}
