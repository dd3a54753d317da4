import Credentials
import Crypto
import Foundation
package import HTTPTypes
import Hummingbird
import Locks
import NIOCore
import Wire

/// The middleware for `Idempotency-Key`: for 24 hours, the same key, body and user receive the first response.
///
/// - A different body is rejected with 422, a request that is still running with 409.
/// - Responses larger than 16 kB are not stored. The repeated request runs again if the handler can find its earlier
///   result, otherwise it is rejected with 409.
/// - A user may use 1,000 keys in 24 h, then receives 429.
/// - Responses with a 5xx status are not stored, so the client can retry. If the process crashes, the client can retry
///   after one minute. ``IdempotentRequest`` prevents that a retry repeats the effect.
struct Idempotency<Context: IdentifiedContext>: RouterMiddleware {
    let store: IdempotencyStore
    let now: @Sendable () -> Date

    func handle(
        _ request: Request,
        context: Context,
        next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        guard request.method == .post, let key = request.headers[.idempotencyKey], !isExempt(request.uri.path) else {
            return try await next(request, context)
        }
        guard (1...255).contains(key.unicodeScalars.count) else {
            throw APIError.invalid("Idempotency-Key", "an Idempotency-Key must have 1 to 255 characters")
        }
        var request = request
        let fingerprint = try await Self.fingerprint(&request, limit: JSONLimits.large.bytes)
        var entry = IdempotencyStore.Entry(user: context.identity.user, key: key, fingerprint: fingerprint, at: now())
        if context.identity.isServer { entry.maximumKeys = IdempotencyStore.maximumServerKeys }
        switch try await store.begin(entry) {
        case .running:
            throw APIError.inProgress
        case .otherRequest:
            throw APIError(
                .unprocessable,
                "idempotency_key_reused",
                "this Idempotency-Key was used for a different request",
                field: "Idempotency-Key"
            )
        case .full(let retryAfter):
            throw APIError(
                .rateLimited,
                "too_many_idempotency_keys",
                "at most \(entry.maximumKeys) Idempotency-Keys are stored for 24 hours; retry later or without a key",
                retryAfter: retryAfter
            )
        case .completed(let status, _, nil):
            throw APIError(
                .conflict,
                "response_not_stored",
                "the request with this Idempotency-Key had status \(status); its response was too large to store"
            )
        case .completed(let status, let contentType, let body?):
            return Response(
                status: HTTPResponse.Status(code: status),
                headers: [.contentType: contentType, .contentLength: "\(body.count)"],
                body: ResponseBody(byteBuffer: ByteBuffer(bytes: body))
            )
        case .started(let token):
            return try await respond(
                request,
                context: context,
                as: IdempotentRequest(token: token, entry: entry),
                next: next
            )
        }
    }

    private func respond(
        _ request: Request,
        context: Context,
        as idempotent: IdempotentRequest,
        next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        var response: Response
        do {
            response = try await IdempotentRequest.$current.withValue(idempotent) { try await next(request, context) }
            if let body = idempotent.storedBody.withLock({ $0 }) {
                response.headers[.contentLength] = "\(body.count)"
                response.body = ResponseBody(byteBuffer: ByteBuffer(bytes: body))
                return response
            }
        } catch {
            // The response to an invalid request is stored like any other; after a failure of the server, the client
            // may retry.
            guard let failure = APIError(known: error), failure.kind.status < 500, failure.kind != .rateLimited else {
                // Also runs after the client disconnected; otherwise a retry would receive 409 for one minute.
                try await Task { try await store.release(idempotent.entry) }.value
                throw error
            }
            response = failure.problem(requestID: context.requestID)
        }
        if idempotent.isReadOnly.withLock({ $0 }) {
            try await store.delete(idempotent.entry)
            return response
        }
        let collected = CollectedBody()
        try await response.body.write(collected)
        let body = collected.bytes
        let contentType = response.headers[.contentType] ?? "application/json"
        if body.count > IdempotencyStore.maximumBodySize, idempotent.isRepeatable.withLock({ $0 }) {
            try await store.release(idempotent.entry)
        } else {
            _ = try await store.finish(
                idempotent.entry,
                status: response.status.code,
                contentType: contentType,
                body: body
            )
        }
        response.body = ResponseBody(byteBuffer: ByteBuffer(bytes: body))
        return response
    }

    /// Returns whether the path is exempt, because each request there must issue a new token.
    private func isExempt(_ path: String) -> Bool {
        ["/auth/", "/1/", "/applications"].contains { path.hasPrefix($0) }
    }

    /// Returns the hash that identifies a request: its target and body.
    ///
    /// Files are not held in memory. For them the media type and the length are hashed, because each form has a
    /// different boundary.
    ///
    /// - Parameters:
    ///   - request: the request, whose body is collected if it is small.
    ///   - limit: the maximum size in bytes of a body that is hashed.
    /// - Returns: a SHA-256 digest.
    /// - Throws: an error if the body cannot be read.
    private static func fingerprint(_ request: inout Request, limit: Int) async throws -> [UInt8] {
        var hash = SHA256()
        hash.update(data: Data("\(request.method) \(request.uri.string)\n".utf8))
        let type = (request.headers[.contentType] ?? "application/json").prefix { $0 != ";" && $0 != " " }.lowercased()
        let length = request.headers[.contentLength] ?? ""
        let isSmall = Int(length).map { $0 <= limit } ?? true
        if isSmall, type.hasSuffix("json") || type == "application/x-www-form-urlencoded" {
            hash.update(data: Data(try await request.collectBody(upTo: limit).readableBytesView))
        } else {
            hash.update(data: Data("\(type) \(length)".utf8))
        }
        return Array(hash.finalize())
    }
}

private final class CollectedBody: ResponseBodyWriter {
    var bytes: [UInt8] = []

    func write(_ buffer: ByteBuffer) async throws { bytes += buffer.readableBytesView }
    consuming func finish(_ trailingHeaders: HTTPFields?) async throws {}
}

extension APIError {
    static let inProgress = APIError(
        .conflict,
        "request_in_progress",
        "the first request with this Idempotency-Key is still running"
    )
}

extension HTTPField.Name {
    // A name of RFC 9110's token characters always parses.
    // swift-format-ignore: NeverForceUnwrap
    package static let idempotencyKey = HTTPField.Name("Idempotency-Key")!
}
