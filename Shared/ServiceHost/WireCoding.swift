import Foundation
package import Hummingbird
import NIOCore
package import Wire

/// A body that may come as `application/x-www-form-urlencoded` too.
package protocol FormDecodable: Decodable {}

/// Reads request bodies: JSON by the suite's rules; a form where the type allows it.
package struct WireRequestDecoder: RequestDecoder {
    /// What the JSON may hold, and how many bytes a form may have.
    let limits: JSONLimits

    package func decode<Value: Decodable>(
        _ type: Value.Type,
        from request: Request,
        context: some RequestContext
    ) async throws -> Value {
        try Self.rejectContentEncoding(request)
        let isForm = try Self.isForm(request, mayBe: Value.self is any FormDecodable.Type)
        var request = request
        let body = try await Self.body(of: &request, limit: limits.bytes)
        // GET has no usual type of body, so the clients of seed 000 may name none.
        guard request.headers.contains(.contentType) || request.method == .get || body.readableBytes == 0 else {
            throw APIError(
                .unsupportedMediaType,
                "unsupported_media_type",
                "The request has a body but no Content-Type. Send application/json."
            )
        }
        guard isForm else { return try WireJSON.decode(type, from: body.readableBytesView, limits: limits) }
        guard let text = String(validatingUTF8Bytes: body.readableBytesView) else {
            throw APIError(.invalid, "malformed_body", "the body is not UTF-8")
        }
        try Self.checkFields(of: text)
        do {
            return try URLEncodedFormDecoder().decode(type, from: text)
        } catch let error as DecodingError {
            throw APIError(error)
        } catch {
            throw Self.malformedForm
        }
    }

    private static let malformedForm = APIError(.invalid, "malformed_body", "the body is not a well-formed form")

    /// Collects a body, of which nothing is read where its length says that it is too large.
    static func body(of request: inout Request, limit: Int) async throws -> ByteBuffer {
        if let length = request.headers[.contentLength].flatMap({ Int($0) }), length > limit {
            throw APIError.tooLarge(limit: limit)
        }
        do {
            return try await request.collectBody(upTo: limit)
        } catch is NIOTooManyBytesError {
            throw APIError.tooLarge(limit: limit)
        }
    }

    /// Checks a form's fields by the rules for JSON, on bytes: a combining mark hides the character before it.
    ///
    /// Forms here are flat; the form decoder recurses for each bracket in a name.
    private static func checkFields(of form: String) throws {
        let pairs = form.utf8.split(separator: UInt8(ascii: "&"))
        guard pairs.count <= 100 else {
            throw APIError(.invalid, "too_many_values", "a form may have at most 100 fields")
        }
        for pair in pairs {
            // The form decoder would replace bytes that are not UTF-8, and so decode more than is checked here.
            guard let text = Substring(pair).removingPercentEncoding,
                let name = Substring(pair.prefix { $0 != UInt8(ascii: "=") }).removingPercentEncoding
            else { throw malformedForm }
            try APIError.check(text, of: name)
            guard !name.utf8.contains(UInt8(ascii: "[")) else {
                throw APIError(.invalid, "malformed_body", "the names of a form's fields have no brackets")
            }
        }
    }

    /// A body is read as it is: what is packed could unpack to any size.
    private static func rejectContentEncoding(_ request: Request) throws {
        guard let coding = request.headers[.contentEncoding], coding.lowercased() != "identity" else { return }
        throw APIError(.unsupportedMediaType, "unsupported_content_encoding", "the body must not be compressed")
    }

    private static func isForm(_ request: Request, mayBe isFormAllowed: Bool) throws -> Bool {
        // Almost always said in so many words.
        guard let header = request.headers[.contentType], header != "application/json" else { return false }
        let essence = header.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces).lowercased()
        if essence == "application/json" || essence.hasSuffix("+json") { return false }
        if essence == "application/x-www-form-urlencoded", isFormAllowed { return true }
        throw APIError(.unsupportedMediaType, "unsupported_media_type", "the body must be application/json")
    }
}

extension String {
    fileprivate init?(validatingUTF8Bytes bytes: some Collection<UInt8>) {
        self.init(validating: bytes, as: UTF8.self)
    }
}

extension Request {
    /// Reads a body by other limits than its context's.
    package func decode<Value: Decodable>(
        as type: Value.Type,
        limits: JSONLimits,
        context: some RequestContext
    ) async throws -> Value {
        try await WireRequestDecoder(limits: limits).decode(type, from: self, context: context)
    }

    /// Reads a body that may be left out; nil where it is.
    ///
    /// - Throws: `unsupportedMediaType` for a file, before it is read.
    package func decodeOptional<Value: Decodable>(
        as type: Value.Type,
        limits: JSONLimits? = nil,
        context: some RequestContext
    ) async throws -> Value? {
        guard !hasFileBody else {
            throw APIError(.unsupportedMediaType, "unsupported_media_type", "the body must be application/json")
        }
        let limits = limits ?? (context.requestDecoder as? WireRequestDecoder)?.limits ?? .body
        var request = self
        guard try await WireRequestDecoder.body(of: &request, limit: limits.bytes).readableBytes > 0 else { return nil }
        return try await request.decode(as: type, limits: limits, context: context)
    }
}

/// Writes answers: the suite's JSON.
package struct WireResponseEncoder: ResponseEncoder {
    package init() {}

    package func encode(_ value: some Encodable, from request: Request, context: some RequestContext) throws -> Response
    {
        try Response.json(value)
    }
}

extension Response {
    static let jsonType = "application/json; charset=utf-8"

    package static func json(_ value: some Encodable, status: HTTPResponse.Status = .ok) throws -> Response {
        let data = try WireJSON.encoder().encode(value)
        return Response(
            status: status,
            headers: [.contentType: jsonType, .contentLength: "\(data.count)"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: data))
        )
    }
}

/// Wraps a noun as an answer, where a conformance would be one line for nothing.
package struct JSONResponse<Value: Encodable & Sendable>: ResponseGenerator, Sendable {
    private let value: Value
    private let status: HTTPResponse.Status

    package init(_ value: Value, status: HTTPResponse.Status = .ok) {
        self.value = value
        self.status = status
    }

    package func response(from request: Request, context: some RequestContext) throws -> Response {
        try Response.json(value, status: status)
    }
}

extension Page: ResponseGenerator where Item: Encodable {
    package func response(from request: Request, context: some RequestContext) throws -> Response {
        try Response.json(self)
    }
}
