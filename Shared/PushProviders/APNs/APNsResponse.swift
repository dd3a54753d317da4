import Foundation
import NIOCore

/// What Apple says to a notification (Apple, "Handling notification responses from APNs").
struct APNsResponse {
    private struct Body: Decodable {
        var reason: String?
        /// In milliseconds: since when the token is of no more use.
        var timestamp: Double?
    }

    private let response: ProviderResponse
    private let now: Date

    init(_ response: ProviderResponse, now: Date) {
        self.response = response
        self.now = now
    }

    var reply: PushReply {
        guard response.status != 200 else {
            return PushReply(.accepted, status: 200, receipt: response["apns-id"])
        }
        // What is no JSON, as a proxy's answer, is judged by its status.
        let body = try? JSONDecoder().decode(Body.self, from: Data(response.body.readableBytesView))
        return PushReply(
            outcome(body),
            status: response.status,
            reason: body?.reason.map { String($0.prefix(100)) },
            retryAfter: response.retryAfter(now: now)
        )
    }

    private func outcome(_ body: Body?) -> PushOutcome {
        switch (response.status, body?.reason) {
        case (_, "BadDeviceToken"?): .wrongEnvironment
        case (_, "DeviceTokenNotForTopic"?): .wrongApp
        case (410, _): .unregistered(since: body?.timestamp.map { Date(timeIntervalSince1970: $0 / 1_000) })
        case (400, "IdleTimeout"?): .providerBusy
        case (403, _), (401, _), (407, _): .misconfigured
        case (413, _): .tooLarge
        case (429, "TooManyProviderTokenUpdates"?): .providerBusy
        case (429, _): .targetBusy
        case (408, _), (500..., _): .providerBusy
        case (400..., _): .refused
        // Nothing of Apple's: whatever answers there is not APNs.
        default: .misconfigured
        }
    }
}

/// Which answers are followed by a second try; each kind once for each notification.
struct APNsRetry {
    private var hasRenewed = false
    private var hasReconnected = false

    /// The reply to pass on; nil to try again.
    mutating func reply(to reply: PushReply, for token: ProviderTokens.Token, _ tokens: ProviderTokens) -> PushReply? {
        switch reply.reason {
        case "ExpiredProviderToken" where !hasRenewed:
            hasRenewed = true
            // An error in signing is one of the key, which has signed before.
            return (try? tokens.renew(token)) == true ? nil : reply
        case "TooManyProviderTokenUpdates" where reply.retryAfter == nil:
            var reply = reply
            reply.retryAfter = tokens.timeUntilReplaceable(of: token)
            return reply
        case "IdleTimeout" where !hasReconnected:
            hasReconnected = true
            return nil
        default: return reply
        }
    }
}
