import AsyncHTTPClient
import Foundation
import NIOCore
public import NIOPosix

/// A store that keeps each blob as an object in a bucket of S3 or a compatible service.
///
/// The object of a key is named `<prefix><two letters>/<key>`, like a file of ``FolderBlobStore``: a folder can be
/// copied into a bucket and the other way round.
///
/// A blob up to the size of a part is put in one request, a larger one in a multipart upload. A part is spooled to an
/// unlinked file until it is sent, so a slow source takes no memory. S3 shows an object only when it is complete.
///
/// If a put fails, its upload is aborted. If that fails too, or the process crashes, ``delete(_:)`` aborts it later. So
/// the key that the application has recorded (see ``BlobStore``) suffices to clean up.
///
/// Failed requests are retried a few times with pauses; then the store reports ``BlobError/unavailable(_:)``. It does
/// the same while the service refuses the access key or has no such bucket.
///
/// The access key needs the permissions `s3:GetObject`, `s3:PutObject`, `s3:DeleteObject` and `s3:AbortMultipartUpload`
/// on the objects, and `s3:ListBucket` and `s3:ListBucketMultipartUploads` on the bucket. Nothing else should put
/// objects under the prefix. In a versioned bucket, a lifecycle rule must remove the versions of deleted objects.
public struct S3BlobStore: BlobStore {
    private let connection: S3Connection
    private let blocking: BlockingWork

    /// Creates the folder for parts if needed; sends no request yet.
    ///
    /// - Parameters:
    ///   - configuration: The bucket, the access key and the timeouts.
    ///   - threadPool: The threads for file operations; the pool must run as long as the store is used.
    /// - Throws: ``S3ConfigurationError``, ``BlobError``, or an error of `FileManager` if the folder cannot be created.
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

/// An object of a bucket; its content is requested on reading.
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

    /// Returns the next bytes; nil if the response broke off and the rest must be requested again.
    ///
    /// Blobs are immutable.
    private func next(
        _ body: inout HTTPClientResponse.Body.AsyncIterator,
        _ failures: inout Int
    ) async throws -> ByteBuffer? {
        do {
            guard let bytes = try await body.next() else { throw BlobError.unavailable("a response broke off") }
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
