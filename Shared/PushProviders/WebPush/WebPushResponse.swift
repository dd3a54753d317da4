import Foundation
import NIOCore

/// The mapping of a push service's responses (RFC 8030, section 5).
struct WebPushResponse {
    private let response: ProviderResponse
    private let now: Date

    init(_ response: ProviderResponse, now: Date) {
        self.response = response
        self.now = now
    }

    var reply: PushReply {
        PushReply(
            outcome,
            status: response.status,
            reason: reason,
            receipt: outcome == .accepted ? response["location"].map { String($0.prefix(500)) } : nil,
            retryAfter: response.retryAfter(now: now)
        )
    }

    /// The outcome, which is never ``PushOutcome/misconfigured``.
    ///
    /// Push services also answer 403 for a subscription with another key. Anyone can run a push service that answers
    /// 401. Otherwise one user could stop all users' notifications.
    private var outcome: PushOutcome {
        switch response.status {
        case 200...299: .accepted
        case 404, 410: .unregistered(since: nil)
        case 413: .tooLarge
        case 429: .targetBusy
        case 408, 500...: .providerBusy
        default: .refused
        }
    }

    private var reason: String? {
        switch response.status {
        case 200...299: nil
        case 400: "BadRequest"
        case 401, 403: "VAPIDRefused"
        case 404, 410: "SubscriptionGone"
        case 413: "PayloadTooLarge"
        case 429: "TooManyRequests"
        default: "HTTP\(response.status)"
        }
    }
}
