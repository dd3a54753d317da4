import Foundation
import NIOCore
import SocialAPI

/// Something that changed on a network, told by the network itself.
struct NetworkEvent: Hashable, Sendable {
    enum Change: Hashable, Sendable {
        case created(NetworkItem)
        case updated(NetworkItem)
        /// The native id of what is gone.
        case deleted(String)
        /// Something is new, and has to be asked for (Meta's pings of 2015).
        case ping
    }

    /// Which list it belongs to.
    enum List: String, Codable, Hashable, Sendable { case feed, messages, notifications }

    /// The native id of the account it was told to; several people may have linked it.
    var account: String
    var list: List
    var change: Change
}

/// A network that tells of changes by calling us.
protocol WebhookConnector: Connector {
    /// Answers the network's question whether we are who it was told (a GET): the body for 200.
    ///
    /// - Throws: `NetworkError` of class `permission` for a wrong verify token; `unsupported` where there is no handshake.
    func handshake(_ query: [String: String]) throws -> WebhookHandshakeResponse
    /// What a delivery says, once its signature over the raw bytes is found good.
    ///
    /// - Throws: `permission` for one that is not signed, or not by the network; `invalid` for one that makes no sense.
    func events(of delivery: WebhookDelivery) throws -> WebhookEvents
    /// Has the network tell what happens to an account, if it calls this deployment at all.
    ///
    /// That the network knows the address is the operator's doing; whose events it sends there is said for each account.
    func subscribe(_ account: NetworkAccount) async throws
    /// Takes that back.
    func unsubscribe(_ account: NetworkAccount) async throws
}

struct WebhookHandshakeResponse: Hashable, Sendable {
    var body: String
    var contentType = "text/plain; charset=utf-8"
}

/// A POST to `/webhooks/{network}`.
struct WebhookDelivery: Hashable, Sendable {
    /// Names in lower case.
    var headers: [String: String]
    var body: ByteBuffer
}

/// What a delivery came to.
struct WebhookEvents: Hashable, Sendable {
    var events: [NetworkEvent]
    /// What tells this delivery from others, for repetitions; the network's own id, else nil: then the body itself counts.
    var id: String?
    /// When the network says it happened; deliveries that are older than its retries can be are refused.
    var at: Date?
}

/// A network that holds a connection open and tells of changes on it.
protocol StreamingConnector: Connector {
    /// What happens from now on, until the connection ends or the task is cancelled.
    ///
    /// - Throws: as reads do; the caller connects again with growing pauses.
    func events(as account: NetworkAccount) async throws -> PulledSequence<NetworkEvent>
}
