import Blobs
import HTTPTypes
import Hummingbird
import NIOCore
import ServiceHost
import Wire

/// A file as an answer: whole, a part of it, or that the copy one has is still good (RFC 9110, sections 13 and 14).
///
/// Whatever the file is, a browser runs nothing of it: the type is that of its bytes and may not be guessed anew, only
/// images, sound, video and plain text are shown, and all of it in a sandbox.
struct FileReply {
    let file: OpenedFile
    /// For how many seconds the link will open it.
    let life: Int

    private static let policy = "default-src 'none'; style-src 'unsafe-inline'; sandbox"

    func response(to request: Request, context: SuiteContext) -> Response {
        var headers = headers
        guard !isKnown(to: request) else { return Response(status: .notModified, headers: headers) }
        headers[.contentType] = mediaType == MediaTypeDetector.text ? "text/plain; charset=utf-8" : mediaType
        headers[.contentDisposition] = FileName.disposition(isShown ? "inline" : "attachment", name: name)
        headers[.acceptRanges] = "bytes"
        headers[.contentSecurityPolicy] = Self.policy
        switch range(asked: request) {
        case .whole:
            return response(.ok, headers, 0..<file.blob.size)
        case .part(let range):
            headers[.contentRange] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(file.blob.size)"
            return response(.partialContent, headers, range)
        case .unsatisfiable:
            let error = APIError(.rangeNotSatisfiable, "range_not_satisfiable", "the file ends before this range")
            var response = error.problem(requestID: context.requestID)
            response.headers[.contentRange] = "bytes */\(file.blob.size)"
            return response
        }
    }

    /// Those that go with "still good" too.
    private var headers: HTTPFields {
        [
            .eTag: eTag, .cacheControl: "private, max-age=\(life), immutable",
            .xContentTypeOptions: "nosniff", .referrerPolicy: "no-referrer",
        ]
    }

    private func response(_ status: HTTPResponse.Status, _ headers: HTTPFields, _ range: Range<Int64>) -> Response {
        var headers = headers
        headers[.contentLength] = "\(range.count)"
        let blob = file.blob
        let body = ResponseBody(contentLength: range.count) { writer in
            // One piece at a time: the next is read when the reader has taken this one.
            try await blob.read(range) { try await writer.write($0) }
            try await writer.finish(nil)
        }
        return Response(status: status, headers: headers, body: body)
    }

    private var eTag: String { "\"\(file.key.blob)\"" }
    private var mediaType: String { file.content.mediaType }
    private var name: String { file.content.reference.name ?? "file" }

    private var isShown: Bool {
        mediaType == MediaTypeDetector.text || ["image/", "audio/", "video/"].contains { mediaType.hasPrefix($0) }
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
        return ByteRange(text, size: file.blob.size)
    }
}

/// What a `Range` asks for.
enum ByteRange: Hashable {
    case whole
    case part(Range<Int64>)
    case unsatisfiable

    /// What cannot be read, and several ranges at once, are answered with the whole (RFC 9110, section 14.2).
    init(_ text: String, size: Int64) {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].lowercased() == "bytes" else {
            self = .whole
            return
        }
        let ends = parts[1].trimmingSpaces().split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        guard ends.count == 2, ends.allSatisfy({ $0.utf8.allSatisfy { (48...57).contains($0) } }) else {
            self = .whole
            return
        }
        switch (Self.number(ends[0]), Self.number(ends[1])) {
        case (nil, nil): self = .whole
        case (nil, let length?): self = length > 0 && size > 0 ? .part(max(0, size - length)..<size) : .unsatisfiable
        case (let first?, let last): self.init(first, last ?? .max, size: size)
        }
    }

    private init(_ first: Int64, _ last: Int64, size: Int64) {
        if first > last {
            self = .whole
        } else {
            self = first < size ? .part(first..<(min(last, size - 1) + 1)) : .unsatisfiable
        }
    }

    /// Digits; what is too large for a number is beyond any file.
    private static func number(_ text: Substring) -> Int64? {
        text.isEmpty ? nil : Int64(text) ?? .max
    }
}

extension StringProtocol {
    fileprivate func trimmingSpaces() -> String {
        var text = Substring(self).drop { $0 == " " || $0 == "\t" }
        while text.last == " " || text.last == "\t" { text.removeLast() }
        return String(text)
    }
}

extension HTTPField.Name {
    // A name of RFC 9110's token characters alone always parses.
    // swift-format-ignore: NeverForceUnwrap
    static let referrerPolicy = HTTPField.Name("Referrer-Policy")!
}
