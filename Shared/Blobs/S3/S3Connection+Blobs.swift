import AsyncHTTPClient
import NIOCore
import NIOHTTP1

// Operations on a bucket
// (https://docs.aws.amazon.com/AmazonS3/latest/API/API_Operations_Amazon_Simple_Storage_Service.html).
extension S3Connection {
    /// Returns a blob's size in bytes, or nil if there is no such blob.
    func size(of key: BlobKey) async throws -> Int64? {
        let purpose = "request the size of a blob"
        let response = try await response(S3Request(purpose: purpose, method: .HEAD, key: key, mayBeMissing: true))
        guard response.isFound else { return nil }
        guard let size = response.headers.first(name: "content-length").flatMap({ Int64($0) }) else {
            throw BlobError.failed(purpose, code: 0)
        }
        return size
    }

    /// Requests a range of a blob's bytes; nil if there is no such blob.
    func get(_ key: BlobKey, _ range: Range<Int64>) async throws -> HTTPClientResponse? {
        let purpose = "read a blob"
        let response = try await body(
            S3Request(
                purpose: purpose,
                method: .GET,
                key: key,
                headers: [("range", "bytes=\(range.lowerBound)-\(range.upperBound - 1)")],
                mayBeMissing: true
            )
        )
        guard let response else { return nil }
        // A server that returns the whole blob does not support ranges.
        guard response.status == .partialContent else {
            throw BlobError.failed(purpose, code: Int32(response.status.code))
        }
        return response
    }

    func put(_ key: BlobKey, _ part: SpooledPart, mediaType: String) async throws {
        _ = try await response(
            S3Request(
                purpose: "put a blob",
                method: .PUT,
                key: key,
                headers: [("content-type", mediaType)],
                body: .spooled(part.bytes),
                bodyHash: part.hash
            )
        )
    }

    func delete(_ key: BlobKey, attempts: Int? = nil) async throws {
        _ = try await response(
            S3Request(purpose: "delete a blob", method: .DELETE, key: key, mayBeMissing: true, attempts: attempts)
        )
    }

    /// Begins a multipart upload; returns its id.
    func begin(_ key: BlobKey, mediaType: String) async throws -> String {
        let purpose = "begin an upload"
        let response = try await response(
            S3Request(
                purpose: purpose,
                method: .POST,
                key: key,
                query: [("uploads", "")],
                headers: [("content-type", mediaType)]
            )
        )
        guard let id = response.text["UploadId"], !id.isEmpty else { throw BlobError.failed(purpose, code: 0) }
        return id
    }

    /// Uploads a part; returns the tag that completing the upload requires.
    func put(_ part: SpooledPart, number: Int, of key: BlobKey, upload: String) async throws -> String {
        let purpose = "put a part"
        let response = try await response(
            S3Request(
                purpose: purpose,
                method: .PUT,
                key: key,
                query: [("partNumber", "\(number)"), ("uploadId", upload)],
                body: .spooled(part.bytes),
                bodyHash: part.hash
            )
        )
        guard let tag = response.headers.first(name: "etag"), !tag.isEmpty else {
            throw BlobError.failed(purpose, code: 0)
        }
        return tag
    }

    /// Completes an upload from the parts with these tags.
    func complete(_ key: BlobKey, upload: String, tags: [String], size: Int64) async throws {
        let parts = tags.enumerated().map { index, tag in
            let tag = tag.replacing("&", with: "&amp;").replacing("<", with: "&lt;")
            return "<Part><PartNumber>\(index + 1)</PartNumber><ETag>\(tag)</ETag></Part>"
        }
        let list = ByteBuffer(
            string: "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\(parts.joined())"
                + "</CompleteMultipartUpload>"
        )
        let response = try await response(
            S3Request(
                purpose: "complete an upload",
                method: .POST,
                key: key,
                query: [("uploadId", upload)],
                body: .bytes(list),
                bodyHash: RequestSigner.hash(list),
                mayBeMissing: true
            )
        )
        // The upload is unknown if an earlier attempt completed it and its response was lost.
        guard !response.isFound else { return }
        guard try await self.size(of: key) == size else { throw BlobError.failed("complete an upload", code: 404) }
    }

    /// Aborts an upload and discards its parts.
    func abort(_ key: BlobKey, upload: String, attempts: Int? = nil) async throws {
        _ = try await response(
            S3Request(
                purpose: "abort an upload",
                method: .DELETE,
                key: key,
                query: [("uploadId", upload)],
                mayBeMissing: true,
                attempts: attempts
            )
        )
    }

    /// Returns the ids of the blob's incomplete uploads.
    func uploads(of key: BlobKey) async throws -> [String] {
        let name = "\(configuration.prefix)\(key.folder)/\(key)"
        let response = try await response(
            S3Request(purpose: "list uploads", method: .GET, query: [("prefix", name), ("uploads", "")])
        )
        return response.text.all("Upload").filter { $0["Key"] == name }.compactMap { $0["UploadId"] }
    }
}

/// A part in a spool file, and its SHA-256 in hexadecimal digits.
struct SpooledPart: Sendable {
    let bytes: SpooledBytes
    let hash: String
}
