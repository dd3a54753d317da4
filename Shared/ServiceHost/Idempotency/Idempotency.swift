import Credentials
import Crypto
import Foundation
package import HTTPTypes
import Hummingbird
import Locks
import NIOCore
import Wire

/// Honours `Idempotency-Key`: the same key and body from the same user within 24 h gives the first answer.
///
/// Another body is 422, one still running 409. A response of more than 16 kB is not kept: the request runs again where it
/// finds what it has made, else the repeat is 409. A user has at most 1,000 keys in 24 h, then 429. An answer of 5xx is not kept, so that it can be tried again; nor is a
/// request whose process died, after a minute. What such a one has made is not made again: `IdempotentRequest`.
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
            throw APIError.invalid("Idempotency-Key", "an Idempotency-Key has 1 to 255 characters")
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
                "this Idempotency-Key came with another request before",
                field: "Idempotency-Key"
            )
        case .full(let retryAfter):
            throw APIError(
                .rateLimited,
                "too_many_idempotency_keys",
                "at most \(entry.maximumKeys) Idempotency-Keys are kept for 24 hours; try again later, or without a key",
                retryAfter: retryAfter
            )
        case .completed(let status, _, nil):
            throw APIError(
                .conflict,
                "response_not_stored",
                "the request with this Idempotency-Key was done with status \(status); its response was too large to keep"
            )
        case .completed(let status, let contentType, let body?):
            return Response(
                status: HTTPResponse.Status(code: status),
                headers: [.contentType: contentType, .contentLength: "\(body.count)"],
                body: ResponseBody(byteBuffer: ByteBuffer(bytes: body))
            )
        case .started(let token):
            return try await answer(
                request,
                context: context,
                as: IdempotentRequest(token: token, entry: entry),
                next: next
            )
        }
    }

    private func answer(
        _ request: Request,
        context: Context,
        as known: IdempotentRequest,
        next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        var response: Response
        do {
            response = try await IdempotentRequest.$current.withValue(known) { try await next(request, context) }
            if let body = known.storedBody.withLock({ $0 }) {
                response.headers[.contentLength] = "\(body.count)"
                response.body = ResponseBody(byteBuffer: ByteBuffer(bytes: body))
                return response
            }
        } catch {
            // The answer of a refused request is an answer like any other; what we failed at may be tried again.
            guard let refusal = APIError(known: error), refusal.kind.status < 500, refusal.kind != .rateLimited else {
                // Also where nobody waits for it any more, or who comes again would be told for a minute that it runs.
                try await Task { try await store.release(known.entry) }.value
                throw error
            }
            response = refusal.problem(requestID: context.requestID)
        }
        if known.isReadOnly.withLock({ $0 }) {
            try await store.forget(known.entry)
            return response
        }
        let collected = CollectedBody()
        try await response.body.write(collected)
        let body = collected.bytes
        let contentType = response.headers[.contentType] ?? "application/json"
        if body.count > IdempotencyStore.maximumBodySize, known.isRepeatable.withLock({ $0 }) {
            try await store.release(known.entry)
        } else {
            _ = try await store.finish(known.entry, status: response.status.code, contentType: contentType, body: body)
        }
        response.body = ResponseBody(byteBuffer: ByteBuffer(bytes: body))
        return response
    }

    /// Tokens are made anew each time there.
    private func isExempt(_ path: String) -> Bool {
        ["/auth/", "/1/", "/applications"].contains { path.hasPrefix($0) }
    }

    /// What makes two requests the same: the target and the body; of a file, which is not held in memory, its size and
    /// kind, since a form has another boundary each time.
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
    // A name of RFC 9110's token characters alone always parses.
    // swift-format-ignore: NeverForceUnwrap
    package static let idempotencyKey = HTTPField.Name("Idempotency-Key")!
}
