import Foundation

/// An error of a network, in classes that decide what is done next.
struct NetworkError: Error, Hashable, Sendable {
    enum Class: Hashable, Sendable {
        /// The network does not accept the tokens: they are renewed if possible, otherwise the user must link again.
        ///
        /// Never used for temporary failures: only if the network says that the tokens are invalid.
        case auth
        /// The account or this application lacks the permission; the tokens are valid.
        case permission
        /// There were too many requests; nil if the network does not say until when to wait.
        case rateLimited(until: Date?)
        /// The network rejects this request permanently.
        case invalid
        case notFound
        /// The network has no such feature, or its API does not offer it.
        case unsupported
        /// A retry may succeed; this request certainly had no effect (or was a read).
        case transient
        /// A write was sent and its outcome is unknown: it is looked up before it is tried again.
        case unknownOutcome
    }

    var kind: Class
    /// The reason in one line of English; contains no tokens and no HTML.
    var reason: String
    /// The network's own code (`190`, `invalid_grant`); for logs and metrics.
    var code: String?
    /// The limits in the headers of the error response.
    var budget: Budget?

    init(_ kind: Class, _ reason: String, code: String? = nil, budget: Budget? = nil) {
        self.kind = kind
        self.reason = reason
        self.code = code
        self.budget = budget
    }

    /// Converts any error that a connector has thrown.
    ///
    /// - Parameters:
    ///   - error: A `NetworkError`, an error of `NetworkHTTP`, a decoding error, or any other.
    ///   - isWrite: Whether the failed request changes something on the network.
    init(_ error: any Error, isWrite: Bool) {
        switch error {
        case let error as NetworkError: self = error
        case let failure as NetworkHTTPFailure: self = failure.error(isWrite: isWrite)
        case is DecodingError:
            self.init(isWrite ? .unknownOutcome : .transient, "the network's response could not be parsed")
        default: self.init(isWrite ? .unknownOutcome : .transient, "the network did not respond")
        }
    }

    static func unsupported(_ reason: String) -> NetworkError { NetworkError(.unsupported, reason) }
}

/// The requests that a network still allows.
struct Budget: Hashable, Sendable {
    /// The requests that count towards the limit.
    enum Scope: Hashable, Sendable { case application, account, address }

    var scope: Scope
    /// The requests per window; nil if it is unknown.
    var limit: Double?
    /// The remaining requests, with fractions for Reddit; for networks with percentages, the remainder to 100.
    var remaining: Double
    /// The end of the window; nil if the network does not say.
    var resetAt: Date?

    init(scope: Scope, limit: Double? = nil, remaining: Double, resetAt: Date? = nil) {
        self.scope = scope
        self.limit = limit
        self.remaining = remaining
        self.resetAt = resetAt
    }
}
