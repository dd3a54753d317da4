import Credentials
import Crypto
import Foundation
package import HTTPTypes
import Hummingbird
import NIOCore
import Postgres
import Wire

/// Honours `Idempotency-Key`: the same key and body from the same user within 24 h gives the first answer.
///
/// Another body is 422, one still running 409. An answer of 5xx is not kept, so that it can be tried again; nor is a
/// request whose process died, after a minute.
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
        let fingerprint = try await Self.fingerprint(&request, limit: context.maxUploadSize)
        let entry = IdempotencyStore.Entry(user: context.identity.user, key: key, fingerprint: fingerprint, at: now())
        switch try await store.begin(entry) {
        case .running:
            throw APIError(.conflict, "still_running", "the first request with this Idempotency-Key is still running")
        case .otherRequest:
            throw APIError(
                .unprocessable,
                "idempotency_key_reused",
                "this Idempotency-Key came with another request before",
                field: "Idempotency-Key"
            )
        case .answered(let status, let contentType, let body):
            return Response(
                status: HTTPResponse.Status(code: status),
                headers: [.contentType: contentType, .contentLength: "\(body.count)"],
                body: ResponseBody(byteBuffer: ByteBuffer(bytes: body))
            )
        case .begun:
            return try await answer(request, context: context, entry: entry, next: next)
        }
    }

    private func answer(
        _ request: Request,
        context: Context,
        entry: IdempotencyStore.Entry,
        next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        var response: Response
        do {
            response = try await next(request, context)
        } catch {
            // The answer of a refused request is an answer like any other; what we failed at may be tried again.
            guard let known = APIError(known: error), known.kind.status < 500, known.kind != .rateLimited else {
                try await store.forget(entry)
                throw error
            }
            response = known.problem(requestID: context.requestID)
        }
        let collected = CollectedBody()
        try await response.body.write(collected)
        let body = collected.bytes
        let contentType = response.headers[.contentType] ?? "application/json"
        try await store.finish(entry, status: response.status.code, contentType: contentType, body: body)
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

/// The table `idempotency_keys`, which every service has.
struct IdempotencyStore: Sendable {
    /// How long an answer is kept, in seconds.
    static let retention = 86_400.0
    /// When a request that was begun counts as dead, in seconds; longer than any answer may take.
    static let patience = 60.0

    struct Entry: Sendable {
        let user: User.ID
        let key: String
        let fingerprint: [UInt8]
        let at: Date
    }

    enum Beginning {
        case begun, running, otherRequest
        case answered(status: Int, contentType: String, body: [UInt8])
    }

    static let migrations = [
        Migration(name: "V0000_idempotency_keys", sql: PackageResources.V0000_idempotency_keys_sql)
    ]

    let db: PostgresPool

    func begin(_ entry: Entry) async throws -> Beginning {
        let isBegun =
            try await db.run(
                """
                INSERT INTO idempotency_keys AS known (application_id, user_id, key, fingerprint, begun_at)
                VALUES (\(entry.user.application), \(entry.user.user), \(entry.key), \(entry.fingerprint), \(entry.at))
                ON CONFLICT ON CONSTRAINT idempotency_keys_pkey DO UPDATE
                SET fingerprint = excluded.fingerprint, begun_at = excluded.begun_at,
                    status = NULL, content_type = NULL, body = NULL
                WHERE known.begun_at < \(entry.at.addingTimeInterval(-Self.retention))
                    OR known.status IS NULL AND known.begun_at < \(entry.at.addingTimeInterval(-Self.patience))
                """
            ) == 1
        guard !isBegun else { return .begun }
        let known = try await db.first(
            """
            SELECT fingerprint, status, content_type, body
            FROM idempotency_keys
            WHERE application_id = \(entry.user.application) AND user_id = \(entry.user.user) AND key = \(entry.key)
            """,
            as: { row in
                (
                    fingerprint: try row.bytes("fingerprint"),
                    status: try row.decodeIfPresent("status", as: Int.self),
                    contentType: try row.decodeIfPresent("content_type", as: String.self),
                    body: try row.decodeIfPresent("body", as: [UInt8].self)
                )
            }
        )
        // Gone in between: it was being forgotten, so a later try will find the way free.
        guard let known else { return .running }
        guard known.fingerprint == entry.fingerprint else { return .otherRequest }
        guard let status = known.status else { return .running }
        return .answered(status: status, contentType: known.contentType ?? "application/json", body: known.body ?? [])
    }

    func finish(_ entry: Entry, status: Int, contentType: String, body: [UInt8]) async throws {
        try await db.run(
            """
            UPDATE idempotency_keys
            SET status = \(status), content_type = \(contentType), body = \(body)
            WHERE application_id = \(entry.user.application) AND user_id = \(entry.user.user) AND key = \(entry.key)
                AND fingerprint = \(entry.fingerprint) AND begun_at = \(entry.at)
            """
        )
    }

    func forget(_ entry: Entry) async throws {
        try await db.run(
            """
            DELETE FROM idempotency_keys
            WHERE application_id = \(entry.user.application) AND user_id = \(entry.user.user) AND key = \(entry.key)
                AND begun_at = \(entry.at) AND status IS NULL
            """
        )
    }

    /// Forgets answers past their day.
    func sweep(now: Date) async throws {
        try await db.run("DELETE FROM idempotency_keys WHERE begun_at < \(now.addingTimeInterval(-Self.retention))")
    }
}

extension HTTPField.Name {
    // A name of RFC 9110's token characters alone always parses.
    // swift-format-ignore: NeverForceUnwrap
    package static let idempotencyKey = HTTPField.Name("Idempotency-Key")!
}
