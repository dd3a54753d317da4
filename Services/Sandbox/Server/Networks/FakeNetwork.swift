import Foundation
import NIOHTTP1
import Wire

/// A simulated social network, which authenticates, limits and serves requests like the real one.
protocol FakeNetwork: Sendable {
    var service: SandboxService { get }
    var community: Community { get }
    var grants: Grants { get }
    /// The webhook sender; nil for a network without webhooks.
    var deliveries: WebhookSender? { get }

    /// Returns the caller of a request, or nil for a request that needs no authentication.
    ///
    /// - Throws: `NetworkErrorResponse` in the network's format when the request is not authenticated.
    func caller(of request: NetworkRequest) throws -> Caller?
    /// Returns the rate limit that a request counts towards, or nil when it is unlimited.
    func budget(for request: NetworkRequest, by caller: Caller?) -> RateBudget?
    /// Returns the network's header fields about a rate limit.
    func fields(of limitStatus: RateLimitStatus, at time: Date) -> HTTPHeaders
    func reply(to request: NetworkRequest, by caller: Caller?) throws -> ResponseAction
    /// Returns the credentials with which an app can act for a person, and makes the tokens valid.
    func account(_ person: Person) -> NetworkAccount
    /// Returns an error response in the network's format.
    func errorResponse(_ failure: NetworkFailure, of request: NetworkRequest) -> WebResponse
}

extension FakeNetwork {
    var deliveries: WebhookSender? { nil }
}

/// The person or app that a request's token belongs to.
struct Caller: Sendable {
    let person: Person
    let token: String
    var scopes: Set<String> = []
    var app = ""
}

/// The failures that all networks have, each with its own response format.
enum NetworkFailure: Sendable {
    /// The rate limit is exhausted until this time.
    case limited(until: Date)
    /// The network itself fails, with this status.
    case unavailable(Int)
    case expired
    /// Any other status, with the reason from a script rule.
    case other(Int, reason: String)
    case notFound
}

/// An error response, with the reason under which it is counted.
struct NetworkErrorResponse: Error {
    let response: WebResponse
    let reason: String

    init(_ response: WebResponse, _ reason: String) {
        self.response = response
        self.reason = reason
    }
}
