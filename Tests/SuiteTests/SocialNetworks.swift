import Foundation
import HTTPTypes
import ServiceClient
import ServiceHost
import TestSupport
import Testing
import Wire

/// The social networks that the sandbox simulates: their accounts, posts and simulated errors.
struct SocialNetworks: Sendable {
    private struct Account: Decodable {
        var id: String
        var accessToken: String
        var accessTokenSecret: String?
        var refreshToken: String?
        var password: String?
    }

    private struct PostPage: Decodable {
        struct Post: Decodable { var text: String }
        var posts: [Post]
    }

    /// The networks that publish the text unchanged, unlike Reddit, where it is the title.
    static let textNetworks = ["mastodon", "bluesky", "twitter", "tumblr", "facebook"]

    private let sandbox: ServiceClient
    private let url: String

    init(_ suite: RunningSuite, _ phones: FakePhones) {
        sandbox = suite.client(port: phones.port, jwt: nil)
        url = "http://127.0.0.1:\(phones.port)"
    }

    /// Links the network account that has the user's name, by its tokens.
    func link(_ person: Person, on network: String) async throws {
        let account: Account = try await sandbox.post("/sandbox/networks/\(network)/accounts", ["name": person.name])
        var body = ["access_token": account.accessToken]
        body["access_token_secret"] = account.accessTokenSecret
        body["refresh_token"] = account.refreshToken
        if network == "bluesky", let password = account.password {
            body = ["access_token": password, "id": account.id]
        }
        if ["mastodon", "bluesky"].contains(network) { body["instance"] = "\(url)/\(network)" }
        let _: JSONValue = try await person.service.put("/networks/\(network)", body, timeout: .seconds(30))
    }

    /// Returns the texts of the user's posts on a network.
    func texts(of person: Person, on network: String) async throws -> [String] {
        let query = [("author", person.name), ("limit", "10000")]
        let page: PostPage = try await sandbox.get("/sandbox/networks/\(network)/posts", query: query)
        return page.posts.map(\.text)
    }

    /// Adds a fault rule for the user's next requests to a network.
    func injectFault(_ network: String, for person: Person, _ rule: [String: JSONValue], times: Int64) async throws {
        var rule = rule
        rule["service"] = .string(network)
        rule["token"] = .string(person.name)
        rule["times"] = .integer(times)
        let _: JSONValue = try await sandbox.post("/sandbox/script", JSONValue.object(rule))
    }

    /// Multiplies the rate limits of a network.
    func allow(_ factor: Double, on network: String) async throws {
        let _: JSONValue = try await sandbox.post("/sandbox/networks/\(network)/limits", ["factor": factor])
    }
}

/// Posts to networks with idempotency keys and retries, as an app sends them.
extension Person {
    /// Publishes a post, and returns the result codes by network.
    func post(
        _ text: String,
        to networks: [String],
        until deadline: ContinuousClock.Instant
    ) async throws -> [String: Int] {
        let data: [String: JSONValue] = [
            "text": .string(text), "networks": .array(networks.map(JSONValue.string)),
        ]
        let body = try WireJSON.encoder().encode(["data": JSONValue.object(data)])
        while true {
            do {
                let headers: HTTPFields = [.idempotencyKey: text, .contentType: "application/json"]
                let response = try await service.send(
                    .post,
                    "/feed",
                    headers: headers,
                    body: body,
                    timeout: .seconds(40)
                )
                return try Self.codes(WireJSON.decoder().decode(JSONValue.self, from: response.body)["data"]["results"])
            } catch let error as APIError where error.isTransient {
                guard ContinuousClock.now < deadline else { throw error }
                try await Task.sleep(for: .milliseconds(200))
            }
        }
    }

    /// Uploads a photo, schedules a post with it some seconds later, and returns the post's ID.
    func schedule(_ text: String, to networks: [String], in seconds: Double) async throws -> String {
        let data: [String: JSONValue] = [
            "text": .string(text), "photo": .object(["uploadId": .string(try await upload())]),
            "networks": .array(networks.map(JSONValue.string)),
        ]
        let date = Date(timeIntervalSinceNow: seconds)
        let body: [String: JSONValue] = ["at": .string(Timestamp.string(from: date)), "data": .object(data)]
        let added: JSONValue = try await service.post("/feed/schedule", JSONValue.object(body), timeout: .seconds(30))
        return try #require(added["id"].string)
    }

    /// Returns the result codes of the finished posts by ID and network.
    func scheduled() async throws -> [String: [String: Int]] {
        let page: JSONValue = try await service.get("/feed/scheduled", query: [("limit", "100")])
        let done = page["scheduled"].array.filter { $0["state"].string == "done" }
        return Dictionary(uniqueKeysWithValues: done.map { ($0["id"].string ?? "", Self.codes($0["results"])) })
    }

    private static func codes(_ results: JSONValue) -> [String: Int] {
        guard case .object(let networks) = results else { return [:] }
        return networks.compactMapValues { $0["code"].int }
    }
}

extension APIError {
    /// Whether the same request may succeed later.
    fileprivate var isTransient: Bool {
        [.unavailable, .badGateway, .gatewayTimeout, .timedOut, .rateLimited, .conflict].contains(kind)
    }
}
