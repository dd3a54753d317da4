import Crypto
import Foundation
import Logging
import NIOCore
import Postgres
import ServiceHost
import SocialAPI
import Wire

/// Receives networks' webhooks: signed, fresh, and each delivery once.
struct Webhooks: Sendable {
    /// The time for which deliveries are remembered, in seconds: Meta repeats them for 36 hours, and clocks may differ.
    private static let replayWindow: TimeInterval = 2 * 86_400

    let database: PostgresPool
    let connectors: Connectors
    let changeLog: ChangeLog
    let senders: MessageSenders
    let logger: Logger
    let now: @Sendable () -> Date

    /// Returns the response to a network's handshake, which checks the ownership of the URL.
    func verify(_ network: Network, _ query: [String: String]) throws -> WebhookHandshakeResponse {
        let connector = try connector(of: network)
        return try Self.mappingErrors { try connector.handshake(query) }
    }

    /// Records a delivery; a repeated delivery succeeds without effect.
    func record(_ delivery: WebhookDelivery, from network: Network) async throws {
        let connector = try connector(of: network)
        let parsed = try Self.mappingErrors { try connector.events(of: delivery) }
        if let at = parsed.at, abs(at.timeIntervalSince(now())) > Self.replayWindow {
            throw APIError(
                .forbidden,
                "expired_webhook",
                "the delivery's time differs from the current time by more than 2 days"
            )
        }
        let store = WebhookStore(db: database)
        let proof = parsed.id.map { Data("id \($0)".utf8) } ?? Data(delivery.body.readableBytesView)
        let hash = Data(SHA256.hash(data: proof))
        guard try await !store.contains(hash, of: network) else { return }
        for event in parsed.events { try await record(event, from: network) }
        // Inserted last, so that the network repeats a delivery after a crash. The change log ignores what it already
        // has.
        try await store.insert(hash, of: network, now: now())
    }

    /// Records an event for each user who has linked its account.
    ///
    /// A delivery is about many users: unreadable rows of one user must not lose the events of the others.
    private func record(_ event: NetworkEvent, from network: Network) async throws {
        for user in try await WebhookStore(db: database).owners(of: event.account, on: network) {
            do {
                let change = try await completed(event.change, of: user)
                try await changeLog.record(change, of: PolledListKey(user: user, network: network, list: event.list))
            } catch {
                let key = [user.application, user.user, network.rawValue]
                guard let failed = FailedRow(key, error) else { throw error }
                logger.error(
                    "event of a network cannot be recorded",
                    metadata: [
                        "key": "\(failed.key)", "reason": "\(failed.reason.rawValue)", "detail": "\(failed.detail)",
                    ]
                )
            }
        }
    }

    /// Returns the change with the sender's name if the delivery names the sender only by a number.
    private func completed(_ change: NetworkEvent.Change, of user: User.ID) async throws -> NetworkEvent.Change {
        switch change {
        case .created(var item):
            item.item = try await senders.complete(item.item, of: user)
            return .created(item)
        case .updated(var item):
            item.item = try await senders.complete(item.item, of: user)
            return .updated(item)
        case .deleted, .ping: return change
        }
    }

    func sweep() async throws {
        try await WebhookStore(db: database).delete(receivedBefore: now().addingTimeInterval(-Self.replayWindow))
    }

    private func connector(of network: Network) throws -> any WebhookConnector {
        guard let connector = connectors[network] as? any WebhookConnector else {
            throw APIError(.notFound, "webhooks_not_supported", "\(network.rawValue) does not send webhooks")
        }
        return connector
    }

    private static func mappingErrors<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch {
            let error = NetworkError(error, isWrite: false)
            guard error.kind == .permission || error.kind == .auth else {
                throw APIError(.invalid, "malformed_webhook", error.reason)
            }
            throw APIError(.forbidden, "invalid_webhook_signature", error.reason)
        }
    }
}
