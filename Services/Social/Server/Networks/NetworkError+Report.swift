import Foundation
import SocialAPI

extension NetworkReport {
    /// Creates the report of an error for clients.
    init(_ error: NetworkError) {
        self.init(code: 503, reason: error.reason)
        switch error.kind {
        case .auth: code = 401
        case .permission: code = 403
        case .rateLimited(let until):
            (code, retryAt) = (429, (until ?? error.budget?.resetAt).flatMap(NetworkTime.plausible))
        case .invalid, .unsupported: code = 422
        case .notFound: code = 404
        case .transient: code = error.code == "late" ? 504 : 503
        case .unknownOutcome: code = 504
        }
    }
}
