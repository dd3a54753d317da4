import AsyncHTTPClient
import Foundation
import NIOCore
public import NIOPosix

/// Keeps each blob as an object of a bucket that speaks S3's protocol: Amazon's, or one of those like it.
///
/// The object of a key is named `<prefix><two letters>/<key>`, as the file of a ``FolderBlobStore`` is: a folder copied
/// into a bucket is a store, and the other way round.
///
/// A blob is put in one request where it is no larger than a part, else in parts (a multipart upload); a part lies in a
/// nameless file until it is sent, so a slow source takes no memory. S3 shows an object only when it is whole. When
/// something fails, the upload is dropped; where that fails too, or the process dies, ``delete(_:)`` drops it later, so
/// the note of a key that ``BlobStore`` asks for is enough for nothing to be left.
///
/// Requests are made again a few times, with pauses. Then the store counts as away (``BlobError/unavailable(_:)``); so it
/// does while it refuses the key or has no such bucket.
///
/// Who has the key must be allowed `s3:GetObject`, `s3:PutObject`, `s3:DeleteObject`, `s3:AbortMultipartUpload` on the
/// objects and `s3:ListBucket` and `s3:ListBucketMultipartUploads` on the bucket. Nothing else should put objects below the
/// prefix; versions of deleted ones are the bucket's to remove.
public struct S3BlobStore: BlobStore {
    private let connection: S3Connection
    private let blocking: BlockingWork

    /// Makes the folder for parts if it is not there; asks nothing of the bucket yet.
    ///
    /// - Parameters:
    ///   - configuration: which bucket, and how to wait for it.
    ///   - threadPool: whose threads work on files; it must run for as long as the store is used.
    /// - Throws: ``S3ConfigurationError``, ``BlobError``, or what `FileManager` says about a folder that cannot be made.
    public init(_ configuration: S3Configuration, threadPool: NIOThreadPool = .singleton) throws {
        connection = try S3Connection(configuration)
        blocking = BlockingWork(pool: threadPool)
        try FileManager.default.createDirectory(
            atPath: configuration.temporaryFolder,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
        _ = try SpoolFile(in: configuration.temporaryFolder)
    }

    public func put(
        _ key: BlobKey,
        limit: Int64,
        _ fill: (any BlobSink) async throws -> Void
    ) async throws -> StoredBlob {
        let folder = connection.configuration.temporaryFolder
        let file = try await blocking { try SpoolFile(in: folder) }
        let sink = S3BlobSink(key: key, limit: limit, connection: connection, file: file, blocking: blocking)
        do {
            try await fill(sink)
            return try await sink.finish()
        } catch {
            await sink.abandon(because: error)
            throw error
        }
    }

    public func open(_ key: BlobKey) async throws -> (any Blob)? {
        try await connection.size(of: key).map { S3Blob(key: key, size: $0, connection: connection) }
    }

    public func delete(_ key: BlobKey) async throws {
        for upload in try await connection.uploads(of: key) { try await connection.abort(key, upload: upload) }
        try await connection.delete(key)
    }
}

/// An object of a bucket; it is asked for when it is read.
private struct S3Blob: Blob {
    let key: BlobKey
    let size: Int64
    let connection: S3Connection

    func read(_ range: Range<Int64>, _ consume: (ByteBuffer) async throws -> Void) async throws {
        let end = min(range.upperBound, size)
        var position = max(range.lowerBound, 0)
        var failures = 0
        while position < end {
            guard let response = try await connection.get(key, position..<end) else {
                throw BlobError.failed("read a blob that was deleted", code: 404)
            }
            var body = response.body.makeAsyncIterator()
            while position < end, var bytes = try await next(&body, &failures) {
                var left = Int(min(Int64(bytes.readableBytes), end - position))
                position += Int64(left)
                while left > 0, let piece = bytes.readSlice(length: min(left, BlobLimits.piece)) {
                    left -= piece.readableBytes
                    try await consume(piece)
                }
            }
        }
    }

    /// The next bytes; nil where the answer broke off, and the rest is to be asked for again: blobs never change.
    private func next(
        _ body: inout HTTPClientResponse.Body.AsyncIterator,
        _ failures: inout Int
    ) async throws -> ByteBuffer? {
        do {
            guard let bytes = try await body.next() else { throw BlobError.unavailable("an answer broke off") }
            failures = 0
            return bytes
        } catch {
            failures += 1
            let failure = connection.failure(error)
            guard failures < connection.configuration.attempts, !(failure is CancellationError) else { throw failure }
            try await connection.pause(after: failures)
            return nil
        }
    }
}
