package import Blobs
import HTTPTypes
package import Hummingbird
import NIOCore
package import NIOHTTP1
import Wire

/// A blob as an answer: whole, a part of it, or that the copy one has is still good (RFC 9110, sections 13 and 14).
///
/// Whatever it is, a browser runs nothing of it: the type is that of its bytes and may not be guessed anew, and all of it is
/// in a sandbox.
package struct BlobResponse: Sendable {
    private let eTag: String
    private let size: Int64
    /// Those that go with "still good" too.
    private let headers: HTTPFields
    private let content: HTTPFields
    /// The same for answers that are made many times.
    private let shortHeaders: HTTPHeaders
    private let shortContent: HTTPHeaders

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
        shortHeaders = HTTPHeaders(headers)
        shortContent = HTTPHeaders(headers + content)
    }

    /// What a request's conditions and range come to.
    private enum Part {
        case known
        case bytes(HTTPResponse.Status, Range<Int64>, HTTPFields)
        case unsatisfiable
    }

    /// The answer; `open` is not asked for the blob where the copy one has is good.
    package func response(
        to request: Request,
        requestID: String,
        _ open: () async throws -> any Blob
    ) async throws -> Response {
        let fields = request.headers
        switch part(
            unlessKnown: fields[.ifNoneMatch],
            range: request.method == .get ? fields[.range] : nil,
            ifStill: fields[.ifRange]
        ) {
        case .known:
            return Response(status: .notModified, headers: headers)
        case .bytes(let status, let range, let more):
            let blob = try await open()
            let body = ResponseBody(contentLength: range.count) { writer in
                // One piece at a time: the next is read when the reader has taken this one.
                try await blob.read(range) { try await writer.write($0) }
                try await writer.finish(nil)
            }
            return Response(status: status, headers: all(range, more), body: body)
        case .unsatisfiable:
            let error = APIError(.rangeNotSatisfiable, "range_not_satisfiable", "the file ends before this range")
            var response = error.problem(requestID: requestID)
            response.headers[.contentRange] = "bytes */\(size)"
            return response
        }
    }

    /// The same of a file, without a turn of a task; nil where there is no file, or an error to be told.
    package func shortcutResponse(to request: HTTPRequestHead, _ open: () -> CInt?) -> ShortcutResponse? {
        func field(_ name: String) -> String? {
            let lines = request.headers[name]
            return lines.isEmpty ? nil : lines.joined(separator: ",")
        }
        let range = request.method == .GET ? field("range") : nil
        switch part(unlessKnown: field("if-none-match"), range: range, ifStill: field("if-range")) {
        case .known:
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

    private func part(unlessKnown known: String?, range: String?, ifStill condition: String?) -> Part {
        if let known, isGood(known) { return .known }
        guard let range, condition.map({ $0 == eTag }) ?? true else { return .bytes(.ok, 0..<size, [:]) }
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

    /// Weakly compared (RFC 9110, section 13.1.2); ours has no comma in it.
    private func isGood(_ known: String) -> Bool {
        known.split(separator: ",").map { $0.trimmingSpaces() }
            .contains { $0 == "*" || $0 == eTag || $0 == "W/\(eTag)" }
    }
}

extension HTTPHeaders {
    fileprivate init(_ fields: HTTPFields) {
        self.init(fields.map { ($0.name.rawName, $0.value) })
        // Room for what is added to each answer.
        reserveCapacity(fields.count + 5)
    }
}

extension HTTPField.Name {
    // A name of RFC 9110's token characters alone always parses.
    // swift-format-ignore: NeverForceUnwrap
    package static let referrerPolicy = HTTPField.Name("Referrer-Policy")!
}
