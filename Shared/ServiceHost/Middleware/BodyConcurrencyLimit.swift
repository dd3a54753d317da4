import HTTPTypes
import Hummingbird
import Wire

/// The limits in bytes for request bodies in memory.
enum BodyLimits {
    /// The maximum for one body, unless its handler has its own limit.
    static let one = 1_048_576
    /// The maximum for all concurrent bodies larger than 64 kB; decoded JSON needs several times as much memory.
    static let large = 33_554_432
    /// The maximum for all concurrent bodies of one user.
    ///
    /// Each concurrent upload counts as one body; one more is for a request that is not an upload.
    static let ofUser = (UploadConcurrencyLimit.uploadsOfUser + 1) * one
    /// The maximum for all concurrent bodies of senders without a credential.
    static let openLarge = 8_388_608
}

/// The limit of concurrent request bodies in memory, per user and in total.
///
/// A body counts from its head until the end of the response, with its declared length, at most ``BodyLimits/one``. A
/// handler that reads more has its own limit. A body without a declared length counts with the maximum that its routes
/// read.
///
/// The length counts before the first byte arrives, so a slow client uses up only its own share.
struct BodyConcurrencyLimit<Context: RequestContext>: RouterMiddleware {
    /// The size in bytes up to which a body is not affected by other users' bodies.
    private static var small: Int { 65_536 }

    private let shares: UploadConcurrencyLimit
    private let large: UploadConcurrencyLimit
    private let undeclared: Int
    private let user: @Sendable (Context) -> User.ID?

    /// Creates the middleware.
    ///
    /// - Parameters:
    ///   - large: the limit for all bodies larger than 64 kB.
    ///   - undeclared: the bytes that a body without a declared length counts.
    ///   - maximum: the limit in bytes for all bodies of one user.
    ///   - user: returns the sender; nil if unknown.
    init(
        large: UploadConcurrencyLimit,
        undeclared: Int = BodyLimits.one,
        ofUser maximum: Int = .max,
        user: @escaping @Sendable (Context) -> User.ID?
    ) {
        self.undeclared = undeclared
        shares = UploadConcurrencyLimit(bytesOfUser: maximum)
        self.large = large
        self.user = user
    }

    func handle(
        _ request: Request,
        context: Context,
        next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        let bytes = self.bytes(of: request)
        guard bytes > 0 else { return try await next(request, context) }
        return try await shares.use(user(context), bytes: bytes) {
            // A file is streamed to its store and is not held in memory.
            guard bytes > Self.small, !request.hasFileBody else { return try await next(request, context) }
            return try await large.use(nil, bytes: bytes) { try await next(request, context) }
        }
    }

    /// Returns the bytes that a request counts.
    private func bytes(of request: Request) -> Int {
        if let length = request.headers[.contentLength].flatMap({ Int($0) }) {
            return min(max(0, length), BodyLimits.one)
        }
        return request.headers.contains(.transferEncoding) ? undeclared : 0
    }
}

extension Request {
    /// Whether the body's type is a file or a form that may contain files; routes for files have their own limits.
    var hasFileBody: Bool {
        guard let type = headers[.contentType]?.lowercased() else { return false }
        return [
            "multipart/", "image/", "video/", "audio/", "application/octet-stream", "application/offset+octet-stream",
        ]
        .contains { type.hasPrefix($0) }
    }
}
