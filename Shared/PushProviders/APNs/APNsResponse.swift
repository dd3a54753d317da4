import Foundation
import NIOCore

/// The mapping of APNs' responses (Apple, "Handling notification responses from APNs").
struct APNsResponse {
    private struct Body: Decodable {
        var reason: String?
        /// The time in milliseconds at which APNs found the token inactive.
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
        // The body of a proxy's response may not be JSON; the status alone decides then.
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
        // APNs sends no other status, so the server is not APNs.
        default: .misconfigured
        }
    }
}

/// The rule for repeating a request: each reason causes at most one repetition.
struct APNsRetry {
    private var hasRenewed = false
    private var hasReconnected = false

    /// Returns the reply for the caller; nil to repeat the request.
    mutating func reply(to reply: PushReply, for token: ProviderTokens.Token, _ tokens: ProviderTokens) -> PushReply? {
        switch reply.reason {
        case "ExpiredProviderToken" where !hasRenewed:
            hasRenewed = true
            // A signing error leaves the reply unchanged.
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
