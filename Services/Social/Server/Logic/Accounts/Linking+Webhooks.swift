import Logging
import ServiceHost
import SocialAPI

/// Subscriptions to the webhooks of linked accounts.
extension Linking {
    private static let timeout = Duration.seconds(3)

    /// Subscribes to a network's events of an account.
    ///
    /// If the subscription fails, polling still finds the events.
    func subscribe(_ account: NetworkAccount, by connector: any Connector) async {
        guard let connector = connector as? any WebhookConnector else { return }
        do {
            try await within(Self.timeout) { try await connector.subscribe(account) }
        } catch {
            logFailure("webhook subscription failed", connector.network, error)
        }
    }

    /// Ends the subscription if no other user has linked the same account.
    func unsubscribe(_ account: NetworkAccount, by connector: any Connector) async {
        guard let connector = connector as? any WebhookConnector, let id = account.id else { return }
        do {
            let others = try await WebhookStore(db: database).owners(of: id, on: connector.network)
            guard others.isEmpty else { return }
            try await within(Self.timeout) { try await connector.unsubscribe(account) }
        } catch {
            logFailure("webhook unsubscription failed", connector.network, error)
        }
    }

    func logFailure(_ message: Logger.Message, _ network: Network, _ error: any Error) {
        let reason = NetworkError(error, isWrite: false).reason
        logger.notice(message, metadata: ["network": "\(network.rawValue)", "reason": "\(reason)"])
    }
}
