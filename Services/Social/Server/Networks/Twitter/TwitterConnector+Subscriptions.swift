import Foundation
import HTTPTypes
import SocialAPI
import Wire

/// The subscriptions of accounts to the application's webhook.
extension TwitterConnector {
    /// The end of the webhook's URL, whatever the host of the gateway.
    private static let path = "/webhooks/twitter"

    func subscribe(_ account: NetworkAccount) async throws {
        guard let hook = try await webhook() else { return }
        _ = try await send(NetworkRequest(.post, subscriptions(at: hook)), account)
    }

    func unsubscribe(_ account: NetworkAccount) async throws {
        guard let hook = try await webhook() else { return }
        _ = try await send(NetworkRequest(.delete, subscriptions(at: hook)), account)
    }

    private func subscriptions(at hook: String) -> String {
        "\(key.baseURL)/2/account_activity/webhooks/\(hook.pathSegment)/subscriptions/all"
    }

    /// Returns the id of the webhook that leads here; nil if the operator has not registered one.
    private func webhook() async throws -> String? {
        let (id, secret) = try key.registered()
        let tokenRequest = NetworkRequest.form("\(key.baseURL)/oauth2/token", ["grant_type": "client_credentials"])
        let (granted, _) = try await calls.json(tokenRequest.basic(id, secret))
        let token = try NetworkTokens(oauth: granted, now: calls.now())
        let (json, _) = try await calls.json(.get("\(key.baseURL)/2/webhooks").bearer(token.access))
        let ours = json["data"].list.first { hook in
            hook["url"]?.text?.hasSuffix(Self.path) == true && hook["valid"]?.flag != false
        }
        return ours?["id"]?.identifier
    }
}
