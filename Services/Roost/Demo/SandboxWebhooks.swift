import Foundation
import HTTPTypes
import ServiceClient
import Wire

/// Has the sandbox's networks call social, as an operator has the real ones do with their applications' pages.
struct SandboxWebhooks: Sendable {
    /// Of Meta's, what of it is told, by its name in a subscription.
    static let objects = ["facebook": "page", "instagram": "instagram"]

    /// Where social is.
    let social: String
    let given: [String: String]

    /// What Meta's networks ask social for when they begin to call.
    static func verifyToken(of fake: SandboxNetworks.Fake, in given: [String: String]) -> String {
        given[fake.setting("VERIFY_TOKEN")].flatMap { $0.isEmpty ? nil : $0 } ?? "sandbox"
    }

    /// Registers social at a network; nothing where the network calls nobody.
    ///
    /// The network challenges social before it answers.
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
                // An address is taken once: who has registered it before has done all there is to do.
                let known = try await application.get(hooks, as: Hooks.self).data
                guard known.contains(where: { $0.url == callback }) else { throw error }
            }
        }
    }

    private struct Hooks: Decodable {
        struct Hook: Decodable {
            let url: String
        }

        let data: [Hook]
    }

    /// By which the application speaks for itself.
    private func appToken(of fake: SandboxNetworks.Fake, from network: ServiceClient) async throws -> String {
        let basic = Data("\(fake.clientId):\(fake.clientSecret)".utf8).base64EncodedString()
        let response = try await network.send(
            .post,
            "\(fake.path)/2/oauth2/token",
            query: [("grant_type", "client_credentials")],
            headers: [.authorization: "Basic \(basic)"]
        )
        guard let token = try JSONParser.parse(response.body)["access_token"]?.text else {
            throw Workspace.Problem("\(fake.network) gave no token")
        }
        return token
    }
}
