import Foundation
import HTTPTypes

/// The way in which a network reports errors and limits, whatever the request.
struct NetworkErrorMapping: Sendable {
    /// Returns the limits in the headers; nil if there are none.
    var budget: @Sendable (_ response: ParsedResponse, _ now: Date) -> Budget? = { _, _ in nil }
    /// Returns the error in the body; nil if the status decides.
    ///
    /// It is also called for successes, since some networks report errors with status 200.
    var mappedError: @Sendable (_ response: ParsedResponse) -> MappedError? = { _ in nil }
}

struct MappedError: Sendable {
    var kind: NetworkError.Class
    /// The network's own text, unchanged.
    var reason: String?
    var code: String?
    /// The seconds until the next request is allowed, if the body says so.
    var wait: Double?
}

extension MappedError {
    /// Returns the error of a status without further information.
    ///
    /// A server error of a write may have had its effect.
    static func by(status: Int, isWrite: Bool) -> MappedError {
        let kind: NetworkError.Class =
            switch status {
            case 401: .auth
            case 403: .permission
            case 404, 410: .notFound
            case 408, 425: .transient
            case 429: .rateLimited(until: nil)
            case 400..<500: .invalid
            case 501: .unsupported
            case 500...: isWrite ? .unknownOutcome : .transient
            // Redirects are not followed: an API does not move.
            default: isWrite ? .unknownOutcome : .transient
            }
        return MappedError(kind: kind)
    }
}

extension MappedError {
    /// Returns the error of a status with the network's text; nil if it is no client error, or has neither text nor
    /// code.
    static func status(_ response: ParsedResponse, _ reason: String?, code: String? = nil) -> MappedError? {
        guard 400..<500 ~= response.status, reason != nil || code != nil else { return nil }
        var mappedError = MappedError.by(status: response.status, isWrite: false)
        mappedError.reason = reason
        mappedError.code = code
        return mappedError
    }
}

extension NetworkError {
    init(_ mappedError: MappedError, of response: ParsedResponse, now: Date) {
        var kind = mappedError.kind
        if case .rateLimited(nil) = kind {
            let spent = response.budget.flatMap { $0.remaining < 1 ? $0.resetAt : nil }
            let waited = mappedError.wait.map { now.addingTimeInterval(min(max($0, 0), 31 * 86_400)) }
            kind = .rateLimited(until: waited ?? response.retryAt(now) ?? spent ?? response.budget?.resetAt)
        }
        let message = mappedError.reason.map(Self.oneLine).flatMap { $0.isEmpty ? nil : $0 }
        self.init(
            kind,
            message ?? "the network responded with status \(response.status)",
            code: mappedError.code ?? String(response.status),
            budget: response.budget
        )
    }

    /// Returns a text in one line of at most 200 characters, without control characters; empty for HTML.
    static func oneLine(_ text: String) -> String {
        guard !text.contains("</") else { return "" }
        let words = text.prefix(400).split { $0.isWhitespace || $0.unicodeScalars.contains { $0.value < 0x20 } }
        return String(words.joined(separator: " ").prefix(200))
    }
}

extension ParsedResponse {
    /// `Retry-After`, in seconds or as a date (RFC 9110, section 10.2.3).
    func retryAt(_ now: Date) -> Date? {
        guard let text = header("retry-after") else { return nil }
        if let seconds = Double(text), seconds >= 0 { return now.addingTimeInterval(min(seconds, 31 * 86_400)) }
        return NetworkTime.date(text)
    }

    /// Returns the budget in the three headers that many networks use; each network has its own meaning of `reset`.
    func budget(
        _ scope: Budget.Scope,
        limit: String,
        remaining: String,
        reset: String,
        as date: (String) -> Date?
    ) -> Budget? {
        guard let left = header(remaining).flatMap(Double.init), left.isFinite else { return nil }
        return Budget(
            scope: scope,
            limit: header(limit).flatMap(Double.init).flatMap { $0.isFinite ? $0 : nil },
            remaining: left,
            resetAt: header(reset).flatMap(date).flatMap(NetworkTime.plausible)
        )
    }
}
