import HTTPTypes
import Hummingbird
import Wire

/// How much of request bodies is in memory, in bytes.
enum BodyLimits {
    /// The most that a handler collects of one, but where it has slots of its own.
    static let one = 1_048_576
    /// The most that bodies of over 64 kB have at once; decoded JSON takes several times as much.
    static let large = 33_554_432
    /// The same of senders without a credential.
    static let openLarge = 8_388_608
}

/// Bounds the request bodies that are in memory at once, of one user and in all.
///
/// A body counts from its head to the end of the answer with its declared length, at most ``BodyLimits/one``: a handler
/// that reads more than that has slots of its own. A body that declares no length counts with the most that its routes
/// read. A slow client pays with its own share, because the length counts before the first byte arrives.
struct BodyConcurrencyLimit<Context: RequestContext>: RouterMiddleware {
    /// A smaller body is never refused for what others send.
    private static var small: Int { 65_536 }

    private let shares: UploadConcurrencyLimit
    private let large: UploadConcurrencyLimit
    private let undeclared: Int
    private let user: @Sendable (Context) -> User.ID?

    /// - Parameters:
    ///   - large: the bound on all bodies that are not small.
    ///   - undeclared: bytes that a body without a length counts.
    ///   - maximum: bytes of all bodies of one user.
    ///   - user: the sender; nil where nobody is known.
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
            // A file goes to its store as it arrives, and is not in memory.
            guard bytes > Self.small, !request.hasFileBody else { return try await next(request, context) }
            return try await large.use(nil, bytes: bytes) { try await next(request, context) }
        }
    }

    /// How much of a body may be in memory.
    private func bytes(of request: Request) -> Int {
        if let length = request.headers[.contentLength].flatMap({ Int($0) }) {
            return min(max(0, length), BodyLimits.one)
        }
        return request.headers.contains(.transferEncoding) ? undeclared : 0
    }
}

extension Request {
    /// Whether the body is a file, or a form that may hold one, by its type; routes that take one have upload slots.
    var hasFileBody: Bool {
        guard let type = headers[.contentType]?.lowercased() else { return false }
        return [
            "multipart/", "image/", "video/", "audio/", "application/octet-stream", "application/offset+octet-stream",
        ]
        .contains { type.hasPrefix($0) }
    }
}
