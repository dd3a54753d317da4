import Foundation
import HTTPTypes
import ServiceClient
import Wire

/// Registers social as the webhook of the sandbox's networks, as an operator does on the real networks' pages.
struct SandboxWebhooks: Sendable {
    /// The subscription objects of Meta's networks.
    static let objects = ["facebook": "page", "instagram": "instagram"]

    let social: String
    let given: [String: String]

    /// Returns the token that Meta's networks send to social to verify a new subscription.
    static func verifyToken(of fake: SandboxNetworks.Fake, in given: [String: String]) -> String {
        given[fake.setting("VERIFY_TOKEN")].flatMap { $0.isEmpty ? nil : $0 } ?? "sandbox"
    }

    /// Registers social at a network; does nothing for a network without webhooks.
    ///
    /// The network sends a challenge to social before it responds.
    func register(at fake: SandboxNetworks.Fake) async throws {
        let network = ServiceClient(callee: fake.network, transport: HTTPTransport(baseURLs: [fake.origin]))
        let callback = "\(social)/webhooks/\(fake.network)"
        if let object = Self.objects[fake.network] {
            let query = [
                ("object", object), ("callback_url", callback),
                ("fields", "feed,mention,comments,messages,message_echoes"),
                ("verify_token", Self.verifyToken(of: fake, in: given)),
                ("access_token", "\(fake.clientId)|\(fake.clientSecret)"),
            ]
            let path = "\(fake.path)/v24.0/\(fake.clientId)/subscriptions"
            _ = try await network.send(.post, path, query: query, timeout: .seconds(15))
        } else if fake.network == "twitter" {
            let hooks = "\(fake.path)/2/webhooks"
            let application = network.authorized(as: try await appToken(of: fake, from: network))
            do {
                let hook = ["url": callback]
                _ = try await application.post(hooks, hook, timeout: .seconds(15), as: JSONValue.self)
            } catch {
                // A network registers an address only once, so an address that is already registered is a success.
                let registered = try await application.get(hooks, as: Hooks.self).data
                guard registered.contains(where: { $0.url == callback }) else { throw error }
            }
        }
    }

    private struct Hooks: Decodable {
        struct Hook: Decodable {
            let url: String
        }

        let data: [Hook]
    }

    private func appToken(of fake: SandboxNetworks.Fake, from network: ServiceClient) async throws -> String {
        let basic = Data("\(fake.clientId):\(fake.clientSecret)".utf8).base64EncodedString()
        let response = try await network.send(
            .post,
            "\(fake.path)/2/oauth2/token",
            query: [("grant_type", "client_credentials")],
            headers: [.authorization: "Basic \(basic)"]
        )
        guard let token = try JSONParser.parse(response.body)["access_token"]?.text else {
            throw Workspace.Problem("\(fake.network) returned no token")
        }
        return token
    }
}
