import Foundation
import HTTPTypes

/// How one network refuses and counts: what its answers mean, whatever was asked.
struct NetworkErrorMapping: Sendable {
    /// What the headers say of limits; nil where they say nothing.
    var budget: @Sendable (_ answer: ParsedResponse, _ now: Date) -> Budget? = { _, _ in nil }
    /// What the body says of a refusal; nil leaves it to the status.
    ///
    /// Is asked for successes too: some networks refuse with 200.
    var mappedError: @Sendable (_ answer: ParsedResponse) -> MappedError? = { _ in nil }
}

/// What a network said instead of what it was asked for.
struct MappedError: Sendable {
    var kind: NetworkError.Class
    /// The network's own words, as they came.
    var reason: String?
    var code: String?
    /// Seconds from now until it may be asked again, where the body says so.
    var wait: Double?
}

extension MappedError {
    /// As HTTP has it, for whom the body says no more: a server that failed at a write may have done it.
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
    /// What the status says, in the network's words; nil where it is no refusal, or one without words.
    static func status(_ answer: ParsedResponse, _ reason: String?, code: String? = nil) -> MappedError? {
        guard 400..<500 ~= answer.status, reason != nil || code != nil else { return nil }
        var mappedError = MappedError.by(status: answer.status, isWrite: false)
        mappedError.reason = reason
        mappedError.code = code
        return mappedError
    }
}

extension NetworkError {
    init(_ mappedError: MappedError, of answer: ParsedResponse, now: Date) {
        var kind = mappedError.kind
        if case .rateLimited(nil) = kind {
            let spent = answer.budget.flatMap { $0.remaining < 1 ? $0.resetAt : nil }
            let waited = mappedError.wait.map { now.addingTimeInterval(min(max($0, 0), 31 * 86_400)) }
            kind = .rateLimited(until: waited ?? answer.retryAt(now) ?? spent ?? answer.budget?.resetAt)
        }
        let said = mappedError.reason.map(Self.oneLine).flatMap { $0.isEmpty ? nil : $0 }
        self.init(
            kind,
            said ?? "the network answered with status \(answer.status)",
            code: mappedError.code ?? String(answer.status),
            budget: answer.budget
        )
    }

    /// A network's words in one line of at most 200 characters, without control characters; nothing of a page of HTML.
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

    /// The three headers that many networks have in common, with what `reset` means left to the network.
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
