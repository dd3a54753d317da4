import Foundation
package import Hummingbird
import NIOCore
package import Wire

/// A body that may also be sent as `application/x-www-form-urlencoded`.
package protocol FormDecodable: Decodable {}

/// The decoder of request bodies: JSON by the suite's rules, or a form if the type allows it.
package struct WireRequestDecoder: RequestDecoder {
    /// The limits of the JSON, and the maximum size of a form.
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
        // GET has no default media type, so the clients of seed 000 may omit it.
        guard request.headers.contains(.contentType) || request.method == .get || body.readableBytes == 0 else {
            throw APIError(
                .unsupportedMediaType,
                "unsupported_media_type",
                "the request has a body but no Content-Type; send application/json"
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

    private static let malformedForm = APIError(.invalid, "malformed_body", "the body is a malformed form")

    /// Collects a body; reads nothing if the declared length exceeds the limit.
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

    /// Checks a form's fields by the rules for JSON.
    ///
    /// The check works on bytes, because a combining mark hides the preceding character. Brackets in names are
    /// rejected, because the form decoder recurses for each of them; forms here are flat.
    ///
    /// - Parameter form: the text of the form.
    /// - Throws: an `APIError`.
    private static func checkFields(of form: String) throws {
        let pairs = form.utf8.split(separator: UInt8(ascii: "&"))
        guard pairs.count <= 100 else {
            throw APIError(.invalid, "too_many_values", "a form may have at most 100 fields")
        }
        for pair in pairs {
            // The form decoder replaces invalid UTF-8, so it would decode text that is not checked here.
            guard let text = Substring(pair).removingPercentEncoding,
                let name = Substring(pair.prefix { $0 != UInt8(ascii: "=") }).removingPercentEncoding
            else { throw malformedForm }
            try APIError.check(text, of: name)
            guard !name.utf8.contains(UInt8(ascii: "[")) else {
                throw APIError(.invalid, "malformed_body", "the names of form fields must not contain brackets")
            }
        }
    }

    /// Rejects compressed bodies, because they could expand to any size.
    private static func rejectContentEncoding(_ request: Request) throws {
        guard let coding = request.headers[.contentEncoding], coding.lowercased() != "identity" else { return }
        throw APIError(.unsupportedMediaType, "unsupported_content_encoding", "the body must not be compressed")
    }

    private static func isForm(_ request: Request, mayBe isFormAllowed: Bool) throws -> Bool {
        // The common case first.
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
    /// Decodes a body with other limits than those of its context.
    package func decode<Value: Decodable>(
        as type: Value.Type,
        limits: JSONLimits,
        context: some RequestContext
    ) async throws -> Value {
        try await WireRequestDecoder(limits: limits).decode(type, from: self, context: context)
    }

    /// Decodes an optional body; returns nil if it is missing.
    ///
    /// - Parameters:
    ///   - type: the type of the body.
    ///   - limits: the limits; nil for those of the context.
    ///   - context: the request's context.
    /// - Returns: the value, or nil.
    /// - Throws: `unsupported_media_type` for a file, before it is read; an `APIError` for an invalid body.
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

/// The encoder of responses: JSON by the suite's rules.
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

/// A value as a JSON response, for types without their own conformance to `ResponseGenerator`.
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
