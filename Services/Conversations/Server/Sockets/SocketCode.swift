import Wire

/// Diuit's codes, from which its clients learn the result of a request.
enum SocketCode {
    static let done = 200

    /// Returns the code of an error; this is the only mapping.
    static func of(_ error: APIError) -> Int {
        switch (error.kind, error.code) {
        case (_, "authentication_required"): 498
        case (_, "group_required"): 480
        case (_, "meta_too_long"): 460
        case (_, "file_too_large"): 496
        case (.unauthenticated, _), (.forbidden, _): 403
        case (.notFound, _): 495
        case (.rateLimited, _): 429
        case (.invalid, _), (.unprocessable, _), (.conflict, _), (.tooLarge, _): 497
        default: 499
        }
    }
}
