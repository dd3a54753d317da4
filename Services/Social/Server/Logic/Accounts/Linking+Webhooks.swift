import Logging
import ServiceHost
import SocialAPI

/// Whose events networks send here.
extension Linking {
    private static let timeout = Duration.seconds(3)

    /// Has the network tell what happens to an account; where it could not be told to, looking finds it later.
    func subscribe(_ account: NetworkAccount, by connector: any Connector) async {
        guard let connector = connector as? any WebhookConnector else { return }
        do {
            try await within(Self.timeout) { try await connector.subscribe(account) }
        } catch {
            logFailure("a network was not asked to tell of an account", connector.network, error)
        }
    }

    /// Takes that back with the last who had linked the account.
    func unsubscribe(_ account: NetworkAccount, by connector: any Connector) async {
        guard let connector = connector as? any WebhookConnector, let id = account.id else { return }
        do {
            let others = try await WebhookStore(db: database).owners(of: id, on: connector.network)
            guard others.isEmpty else { return }
            try await within(Self.timeout) { try await connector.unsubscribe(account) }
        } catch {
            logFailure("a network was not asked to tell no more of an account", connector.network, error)
        }
    }

    func logFailure(_ what: Logger.Message, _ network: Network, _ error: any Error) {
        let reason = NetworkError(error, isWrite: false).reason
        logger.notice(what, metadata: ["network": "\(network.rawValue)", "reason": "\(reason)"])
    }
}
