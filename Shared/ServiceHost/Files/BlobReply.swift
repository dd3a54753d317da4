package import Blobs
import HTTPTypes
package import Hummingbird
import NIOCore
import Wire

/// A blob as an answer: whole, a part of it, or that the copy one has is still good (RFC 9110, sections 13 and 14).
///
/// Whatever it is, a browser runs nothing of it: the type is that of its bytes and may not be guessed anew, and all of it is
/// in a sandbox.
package struct BlobReply: Sendable {
    private let eTag: String
    private let size: Int64
    /// Those that go with "still good" too.
    private let headers: HTTPFields
    private let content: HTTPFields

    private static let policy = "default-src 'none'; style-src 'unsafe-inline'; sandbox"

    /// - Parameters:
    ///   - eTag: with its quotes; the bytes under it never change.
    ///   - size: in bytes.
    ///   - cacheControl: for how long, and for whom, a copy is good.
    ///   - mediaType: by its bytes.
    ///   - disposition: whether it is shown or saved, and by which name.
    package init(eTag: String, size: Int64, cacheControl: String, mediaType: String, disposition: String) {
        self.eTag = eTag
        self.size = size
        headers = [
            .eTag: eTag, .cacheControl: cacheControl, .xContentTypeOptions: "nosniff", .referrerPolicy: "no-referrer",
        ]
        content = [
            .contentType: mediaType == MediaTypeDetector.text ? "text/plain; charset=utf-8" : mediaType,
            .contentDisposition: disposition, .acceptRanges: "bytes", .contentSecurityPolicy: Self.policy,
        ]
    }

    /// The answer; `open` is not asked for the blob where the copy one has is good.
    package func response(
        to request: Request,
        requestID: String,
        _ open: () async throws -> any Blob
    ) async throws -> Response {
        guard !isKnown(to: request) else { return Response(status: .notModified, headers: headers) }
        switch range(asked: request) {
        case .whole:
            return try await response(.ok, 0..<size, [:], open)
        case .part(let range):
            let part = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(size)"
            return try await response(.partialContent, range, [.contentRange: part], open)
        case .unsatisfiable:
            let error = APIError(.rangeNotSatisfiable, "range_not_satisfiable", "the file ends before this range")
            var response = error.problem(requestID: requestID)
            response.headers[.contentRange] = "bytes */\(size)"
            return response
        }
    }

    private func response(
        _ status: HTTPResponse.Status,
        _ range: Range<Int64>,
        _ more: HTTPFields,
        _ open: () async throws -> any Blob
    ) async throws -> Response {
        var all = headers
        for field in content + more { all[field.name] = field.value }
        all[.contentLength] = "\(range.count)"
        let blob = try await open()
        let body = ResponseBody(contentLength: range.count) { writer in
            // One piece at a time: the next is read when the reader has taken this one.
            try await blob.read(range) { try await writer.write($0) }
            try await writer.finish(nil)
        }
        return Response(status: status, headers: all, body: body)
    }

    private func isKnown(to request: Request) -> Bool {
        guard let known = request.headers[.ifNoneMatch] else { return false }
        // Weakly compared (RFC 9110, section 13.1.2); ours has no comma in it.
        return known.split(separator: ",").map { $0.trimmingSpaces() }
            .contains { $0 == "*" || $0 == eTag || $0 == "W/\(eTag)" }
    }

    private func range(asked request: Request) -> ByteRange {
        guard request.method == .get, let text = request.headers[.range] else { return .whole }
        if let condition = request.headers[.ifRange], condition != eTag { return .whole }
        return ByteRange(text, size: size)
    }
}

extension HTTPField.Name {
    // A name of RFC 9110's token characters alone always parses.
    // swift-format-ignore: NeverForceUnwrap
    package static let referrerPolicy = HTTPField.Name("Referrer-Policy")!
}
