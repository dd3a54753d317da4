import Foundation
import NIOCore

/// The mapping of FCM's responses (Firebase, "ErrorCode", inside Google's `google.rpc.Status`).
struct FCMResponse {
    private struct ErrorBody: Decodable {
        struct Detail: Decodable {
            struct Violation: Decodable {
                var field: String?
                var subject: String?
                var description: String?
            }

            var errorCode: String?
            var fieldViolations: [Violation]?
            var violations: [Violation]?
        }

        struct Content: Decodable {
            var message: String?
            var status: String?
            var details: [Detail]?
        }

        var error: Content
    }

    private struct Success: Decodable {
        var name: String?
    }

    private let response: ProviderResponse
    private let now: Date

    init(_ response: ProviderResponse, now: Date) {
        self.response = response
        self.now = now
    }

    var reply: PushReply {
        let body = Data(response.body.readableBytesView)
        guard response.status != 200 else {
            // An unreadable success has no receipt.
            let name = (try? JSONDecoder().decode(Success.self, from: body))?.name
            return PushReply(.accepted, status: 200, receipt: name)
        }
        let problem = (try? JSONDecoder().decode(ErrorBody.self, from: body))?.error
        let code = problem?.details?.compactMap(\.errorCode).first
        let outcome = outcome(code, problem)
        return PushReply(
            outcome,
            status: response.status,
            reason: reason(code, problem),
            retryAfter: retryAfter(outcome)
        )
    }

    private func outcome(_ code: String?, _ problem: ErrorBody.Content?) -> PushOutcome {
        switch code {
        case "UNREGISTERED"?: return .unregistered(since: nil)
        case "SENDER_ID_MISMATCH"?: return .wrongApp
        case "INVALID_ARGUMENT"?: return isTooLarge(problem) ? .tooLarge : .refused
        case "QUOTA_EXCEEDED"?: return isDeviceQuota(problem) ? .targetBusy : .providerBusy
        case "UNAVAILABLE"?, "INTERNAL"?: return .providerBusy
        case "THIRD_PARTY_AUTH_ERROR"?: return .misconfigured
        default: break
        }
        switch response.status {
        case 400: return isTooLarge(problem) ? .tooLarge : .refused
        case 413: return .tooLarge
        // Without the code `UNREGISTERED`, a 404 means an unknown project, not an unknown device.
        case 401, 403, 404, 407: return .misconfigured
        case 408, 429, 500...: return .providerBusy
        case 400...: return .refused
        default: return .misconfigured
        }
    }

    /// FCM has no error code for a payload that is too large.
    private func isTooLarge(_ problem: ErrorBody.Content?) -> Bool {
        problem?.message?.lowercased().contains("too big") == true
    }

    /// FCM uses one code for the project's rate and for a device's rate; the violation distinguishes them.
    private func isDeviceQuota(_ problem: ErrorBody.Content?) -> Bool {
        let violations = problem?.details?.flatMap { $0.violations ?? [] } ?? []
        return violations.contains { violation in
            (violation.subject ?? "").lowercased().hasPrefix("device")
                || (violation.description ?? "").lowercased().contains("device")
        }
    }

    private func reason(_ code: String?, _ problem: ErrorBody.Content?) -> String? {
        guard let name = code ?? problem?.status else { return nil }
        let field = problem?.details?.flatMap { $0.fieldViolations ?? [] }.compactMap(\.field).first
        return String((field.map { "\(name) \($0)" } ?? name).prefix(100))
    }

    private func retryAfter(_ outcome: PushOutcome) -> Duration? {
        let requested = response.retryAfter(now: now)
        // Firebase recommends one minute after a 429 without `Retry-After`.
        return response.status == 429 ? requested ?? .seconds(60) : requested
    }
}
