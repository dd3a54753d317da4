import Foundation
import NIOCore
import SocialAPI

/// A change that a network reports by webhook or stream.
struct NetworkEvent: Hashable, Sendable {
    enum Change: Hashable, Sendable {
        case created(NetworkItem)
        case updated(NetworkItem)
        /// The native id of the deleted item.
        case deleted(String)
        /// Something is new and must be polled (Meta's pings of 2015).
        case ping
    }

    enum List: String, Codable, Hashable, Sendable { case feed, messages, notifications }

    /// The native id of the account that received the event; several users may have linked it.
    var account: String
    var list: List
    var change: Change
}

/// A network that reports changes by webhook.
protocol WebhookConnector: Connector {
    /// Returns the response to the network's handshake (a GET), which checks that this deployment owns the URL.
    ///
    /// - Throws: `NetworkError` of class `permission` for a wrong verify token; `unsupported` if there is no handshake.
    func handshake(_ query: [String: String]) throws -> WebhookHandshakeResponse
    /// Returns the events of a delivery after verifying the signature of its raw bytes.
    ///
    /// - Throws: `permission` for a missing or wrong signature; `invalid` for malformed content.
    func events(of delivery: WebhookDelivery) throws -> WebhookEvents
    /// Subscribes to an account's events, if a webhook of this deployment is registered with the network.
    ///
    /// The operator registers the webhook's URL with the network; the subscription is made for each account.
    func subscribe(_ account: NetworkAccount) async throws
    /// Ends the subscription to an account's events.
    func unsubscribe(_ account: NetworkAccount) async throws
}

struct WebhookHandshakeResponse: Hashable, Sendable {
    var body: String
    var contentType = "text/plain; charset=utf-8"
}

/// A POST to `/webhooks/{network}`.
struct WebhookDelivery: Hashable, Sendable {
    /// The headers, with names in lower case.
    var headers: [String: String]
    var body: ByteBuffer
}

struct WebhookEvents: Hashable, Sendable {
    var events: [NetworkEvent]
    /// The network's id of the delivery, by which repetitions are detected; nil if the body itself identifies it.
    var id: String?
    /// The time of the events according to the network; deliveries older than the network's retries are rejected.
    var at: Date?
}

/// A network that reports changes on an open connection.
protocol StreamingConnector: Connector {
    /// Returns the events from now on, until the connection ends or the task is cancelled.
    ///
    /// - Throws: The same errors as reads; the caller reconnects with growing pauses.
    func events(as account: NetworkAccount) async throws -> PulledSequence<NetworkEvent>
}
