import Foundation

/// Why a network did not do what it was asked, in classes that decide what is done next.
struct NetworkError: Error, Hashable, Sendable {
    enum Class: Hashable, Sendable {
        /// The tokens are not taken (any more): renewed if they can be, else the account must be linked anew.
        ///
        /// Never for what may pass: a connector says so only on the network's word for it.
        case auth
        /// The account, or our application, may not do this; nothing is wrong with the tokens.
        case permission
        /// Too much was asked; nil where the network does not say until when.
        case rateLimited(until: Date?)
        /// The network does not want this request, however often it is made.
        case invalid
        case notFound
        /// The network has no such thing, or its API does not let us.
        case unsupported
        /// It may work the next time, and surely had no effect now (or was a read).
        case transient
        /// A write was sent and nobody knows whether it was done: it is looked up before it is tried again.
        case unknownOutcome
    }

    var kind: Class
    /// For a person, one line; holds nothing of a token, and nothing verbatim of HTML pages.
    var reason: String
    /// The network's own name for it (`190`, `invalid_grant`); for logs and metrics.
    var code: String?
    /// What the refusal's headers said of limits.
    var budget: Budget?

    init(_ kind: Class, _ reason: String, code: String? = nil, budget: Budget? = nil) {
        self.kind = kind
        self.reason = reason
        self.code = code
        self.budget = budget
    }

    /// What is made of whatever a connector threw.
    ///
    /// - Parameters:
    ///   - error: a `NetworkError` itself, what `NetworkHTTP` throws, a flaw of decoding, or anything else.
    ///   - isWrite: whether what failed changes something on the network.
    init(_ error: any Error, isWrite: Bool) {
        switch error {
        case let error as NetworkError: self = error
        case let failure as NetworkHTTPFailure: self = failure.error(isWrite: isWrite)
        case is DecodingError:
            self.init(isWrite ? .unknownOutcome : .transient, "the network's answer could not be read")
        default: self.init(isWrite ? .unknownOutcome : .transient, "the network did not answer")
        }
    }

    static func unsupported(_ what: String) -> NetworkError { NetworkError(.unsupported, what) }
}

/// What a network has said of how much more may be asked of it.
struct Budget: Hashable, Sendable {
    /// Whom the limit counts.
    enum Scope: Hashable, Sendable { case application, account, address }

    var scope: Scope
    /// Requests in a window; nil where it is not told.
    var limit: Double?
    /// Requests left in it, fractions as Reddit has them; a share of 100 where the network gives percentages.
    var remaining: Double
    /// When the window ends, whatever the network's way of saying it; nil where it does not.
    var resetAt: Date?

    init(scope: Scope, limit: Double? = nil, remaining: Double, resetAt: Date? = nil) {
        self.scope = scope
        self.limit = limit
        self.remaining = remaining
        self.resetAt = resetAt
    }
}
