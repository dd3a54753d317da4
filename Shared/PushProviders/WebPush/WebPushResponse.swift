import Foundation
import NIOCore

/// What a push service says to a notification (RFC 8030, section 5).
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

    /// Never ``PushOutcome/misconfigured``: 403 is also said to a subscription that was made with another key, and 401 by
    /// anybody who runs a push service, so that one person could stop everybody's notifications.
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
