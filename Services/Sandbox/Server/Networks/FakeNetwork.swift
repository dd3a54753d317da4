import Foundation
import NIOHTTP1
import Wire

/// A social network, played: who asks, what they may, and what they get, as the real one has it.
protocol FakeNetwork: Sendable {
    var service: SandboxService { get }
    var community: Community { get }
    var grants: Grants { get }
    /// What calls those who have asked to be told; nil where the network calls nobody.
    var deliveries: WebhookSender? { get }

    /// Who asks; nil where it is nobody's business.
    ///
    /// - Throws: `NetworkErrorResponse` in the network's own words where it is, and nobody good asks.
    func caller(of request: NetworkRequest) throws -> Caller?
    /// What a request counts towards; nil for what is not counted.
    func budget(for request: NetworkRequest, by caller: Caller?) -> RateBudget?
    /// The network's own header fields about a budget.
    func fields(of limitStatus: RateLimitStatus, at time: Date) -> HTTPHeaders
    func reply(to request: NetworkRequest, by caller: Caller?) throws -> ResponseAction
    /// What an app must know to speak for somebody; makes the tokens good.
    func account(_ person: Person) -> NetworkAccount
    /// A refusal of the network's own style.
    func errorResponse(_ failure: NetworkFailure, of request: NetworkRequest) -> WebResponse
}

extension FakeNetwork {
    var deliveries: WebhookSender? { nil }
}

/// Who asks, by a token.
struct Caller: Sendable {
    let person: Person
    let token: String
    var scopes: Set<String> = []
    var app = ""
}

/// What goes wrong on every network, each in its own words.
enum NetworkFailure: Sendable {
    /// The budget is used up until then.
    case limited(until: Date)
    /// The network itself is not well, by this status.
    case unavailable(Int)
    /// The token has expired.
    case expired
    /// Any other status, with a reason of the script's.
    case other(Int, reason: String)
    /// There is nothing there.
    case notFound
}

/// An answer that is a refusal, with a name to count it by.
struct NetworkErrorResponse: Error {
    let response: WebResponse
    let reason: String

    init(_ response: WebResponse, _ reason: String) {
        self.response = response
        self.reason = reason
    }
}
