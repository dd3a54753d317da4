import Crypto
import Foundation
import Logging
import NIOCore
import Postgres
import ServiceHost
import SocialAPI
import Wire

/// Takes what networks tell us by calling: signed, fresh, and each delivery once.
struct Webhooks: Sendable {
    /// How long a network goes on telling the same, in seconds: Meta for 36 hours, and some for clocks.
    private static let replayWindow: TimeInterval = 2 * 86_400

    let database: PostgresPool
    let connectors: Connectors
    let changeLog: ChangeLog
    let senders: MessageSenders
    let logger: Logger
    let now: @Sendable () -> Date

    /// Answers a network that asks whether we are who it was told.
    func verify(_ network: Network, _ query: [String: String]) throws -> WebhookHandshakeResponse {
        let connector = try connector(of: network)
        return try Self.mappingErrors { try connector.handshake(query) }
    }

    /// Takes a delivery; one that comes again is answered as the first was and does nothing.
    func record(_ delivery: WebhookDelivery, from network: Network) async throws {
        let connector = try connector(of: network)
        let parsed = try Self.mappingErrors { try connector.events(of: delivery) }
        if let at = parsed.at, abs(at.timeIntervalSince(now())) > Self.replayWindow {
            throw APIError(.forbidden, "expired_webhook", "the delivery is too old")
        }
        let store = WebhookStore(db: database)
        let proof = parsed.id.map { Data("id \($0)".utf8) } ?? Data(delivery.body.readableBytesView)
        let hash = Data(SHA256.hash(data: proof))
        guard try await !store.contains(hash, of: network) else { return }
        for event in parsed.events { try await record(event, from: network) }
        // Only now, so that what a crash breaks off is told again; the journal knows what it has of it.
        try await store.insert(hash, of: network, now: now())
    }

    /// Takes an event for each user who has linked its account.
    ///
    /// A delivery is about many users: a user whose rows cannot be read keeps no event from the others.
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

    /// The change with the name of the sender, where the delivery names the sender by a number.
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
        try await WebhookStore(db: database).delete(takenBefore: now().addingTimeInterval(-Self.replayWindow))
    }

    private func connector(of network: Network) throws -> any WebhookConnector {
        guard let connector = connectors[network] as? any WebhookConnector else {
            throw APIError(.notFound, "webhooks_not_supported", "\(network.rawValue) does not call here")
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
