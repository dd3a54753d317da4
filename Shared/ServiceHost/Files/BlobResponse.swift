package import Blobs
import HTTPTypes
package import Hummingbird
import NIOCore
package import NIOHTTP1
import Wire

/// A blob as a response: the whole blob, a range of it, or 304 if the client's copy is current (RFC 9110, sections 13
/// and 14).
///
/// Browsers never execute the content: its type is derived from its bytes, type sniffing is disabled, and a content
/// security policy puts it into a sandbox.
package struct BlobResponse: Sendable {
    private let eTag: String
    private let size: Int64
    /// The headers that a 304 response also has.
    private let headers: HTTPFields
    private let content: HTTPFields
    /// The same headers in NIO's type, built once for the shortcut path.
    private let shortHeaders: HTTPHeaders
    private let shortContent: HTTPHeaders

    private static let policy = "default-src 'none'; style-src 'unsafe-inline'; sandbox"

    /// Creates the response for a blob.
    ///
    /// - Parameters:
    ///   - eTag: the entity tag with its quotes; its bytes never change.
    ///   - size: the size in bytes.
    ///   - cacheControl: the `Cache-Control` header.
    ///   - mediaType: the media type derived from the bytes.
    ///   - disposition: the `Content-Disposition` header.
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
        shortHeaders = HTTPHeaders(headers)
        shortContent = HTTPHeaders(headers + content)
    }

    /// The result of a request's conditions and range.
    private enum Part {
        case notModified
        case bytes(HTTPResponse.Status, Range<Int64>, HTTPFields)
        case unsatisfiable
    }

    /// Returns the response; `open` is not called if the client's copy is current.
    package func response(
        to request: Request,
        requestID: String,
        _ open: () async throws -> any Blob
    ) async throws -> Response {
        let fields = request.headers
        switch part(
            ifNoneMatch: fields[.ifNoneMatch],
            range: request.method == .get ? fields[.range] : nil,
            ifRange: fields[.ifRange]
        ) {
        case .notModified:
            return Response(status: .notModified, headers: headers)
        case .bytes(let status, let range, let more):
            let blob = try await open()
            let body = ResponseBody(contentLength: range.count) { writer in
                // Backpressure: the next piece is read after the client has accepted the current one.
                try await blob.read(range) { try await writer.write($0) }
                try await writer.finish(nil)
            }
            return Response(status: status, headers: all(range, more), body: body)
        case .unsatisfiable:
            let error = APIError(.rangeNotSatisfiable, "range_not_satisfiable", "the range is outside the file")
            var response = error.problem(requestID: requestID)
            response.headers[.contentRange] = "bytes */\(size)"
            return response
        }
    }

    /// Returns the response for a file without starting a task, or nil if the file is missing or the response is an
    /// error.
    package func shortcutResponse(to request: HTTPRequestHead, _ open: () -> CInt?) -> ShortcutResponse? {
        func field(_ name: String) -> String? {
            let lines = request.headers[name]
            return lines.isEmpty ? nil : lines.joined(separator: ",")
        }
        let range = request.method == .GET ? field("range") : nil
        switch part(ifNoneMatch: field("if-none-match"), range: range, ifRange: field("if-range")) {
        case .notModified:
            return ShortcutResponse(.notModified, shortHeaders)
        case .bytes(let status, let range, let more):
            var headers = shortContent
            for field in more { headers.add(name: field.name.rawName, value: field.value) }
            headers.add(name: "Content-Length", value: "\(range.count)")
            let status = HTTPResponseStatus(statusCode: status.code)
            if request.method == .HEAD || range.isEmpty { return ShortcutResponse(status, headers) }
            return open().map { ShortcutResponse(status, headers, body: ($0, range)) }
        case .unsatisfiable:
            return nil
        }
    }

    private func part(ifNoneMatch: String?, range: String?, ifRange: String?) -> Part {
        if let ifNoneMatch, matches(ifNoneMatch) { return .notModified }
        guard let range, ifRange.map({ $0 == eTag }) ?? true else { return .bytes(.ok, 0..<size, [:]) }
        switch ByteRange(range, size: size) {
        case .whole:
            return .bytes(.ok, 0..<size, [:])
        case .part(let range):
            let part = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(size)"
            return .bytes(.partialContent, range, [.contentRange: part])
        case .unsatisfiable:
            return .unsatisfiable
        }
    }

    private func all(_ range: Range<Int64>, _ more: HTTPFields) -> HTTPFields {
        var all = headers
        for field in content + more { all[field.name] = field.value }
        all[.contentLength] = "\(range.count)"
        return all
    }

    /// Returns whether an `If-None-Match` field contains the entity tag, compared weakly (RFC 9110, section 13.1.2).
    ///
    /// Splitting at commas is safe because the tags of blobs contain none.
    ///
    /// - Parameter tags: the value of the field.
    /// - Returns: whether the client's copy is current.
    private func matches(_ tags: String) -> Bool {
        tags.split(separator: ",").map { $0.trimmingSpaces() }
            .contains { $0 == "*" || $0 == eTag || $0 == "W/\(eTag)" }
    }
}

extension HTTPHeaders {
    fileprivate init(_ fields: HTTPFields) {
        self.init(fields.map { ($0.name.rawName, $0.value) })
        // Reserves capacity for the fields that each response adds.
        reserveCapacity(fields.count + 5)
    }
}

extension HTTPField.Name {
    // A name of RFC 9110's token characters always parses.
    // swift-format-ignore: NeverForceUnwrap
    package static let referrerPolicy = HTTPField.Name("Referrer-Policy")!
}
