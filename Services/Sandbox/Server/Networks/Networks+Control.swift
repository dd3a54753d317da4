import Foundation
import NIOHTTP1
import Wire

/// `/sandbox/networks…`, `/sandbox/broadcasts…`, `/sandbox/clock`: routes through which tests control the networks.
extension Networks {
    private struct AccountDraft: Decodable {
        let name: String
        var follows: [String]?
    }

    private struct PostDraft: Decodable {
        let author: String
        let text: String
        var photo: Bool?
        var video: Bool?
        var inReplyTo: String?
        var boosts: String?
    }

    private struct MessageDraft: Decodable {
        let from: String
        let to: String
        let text: String
    }

    private struct NoticeDraft: Decodable {
        let kind: Notice.Kind
        let from: String
        let to: String
        var post: String?
    }

    private struct Limits: Codable {
        let factor: Double
    }

    private struct ClockMove: Decodable {
        let advance: Double
    }

    private struct ClockView: Encodable {
        let now: Date
    }

    private struct NetworkList: Encodable {
        let networks: [NetworkDescription]
    }

    private struct PostView: Encodable {
        let id: String
        let author: String
        let text: String
        let createdAt: Date
        let media: Int
        let likes: [String]
        let inReplyTo: String?
    }

    private struct PostList: Encodable {
        let posts: [PostView]
    }

    private struct BroadcastList: Encodable {
        let broadcasts: [SandboxBroadcast]
        let polls: Int
    }

    func control(_ request: WebRequest, at path: [String]) throws -> ResponseAction {
        switch path[0] {
        case "clock":
            if request.method == .POST { clock.move(by: try request.decode(ClockMove.self).advance) }
            return .response(try .json(ClockView(now: clock.now)))
        case "broadcasts": return .response(try broadcasts(request, path))
        case "identities": return .response(try identities(request, path))
        case "media":
            guard let id = Int64(path[1]), let response = media.response(id) else { throw Self.notFound(request) }
            return .response(response)
        case "networks" where path.count == 1:
            try request.require(.GET)
            let all = networksByName.values.filter { !($0 is OpenIDIssuer) }
                .sorted { $0.service.rawValue < $1.service.rawValue }
            return .response(try .json(NetworkList(networks: all.map { describe($0, at: request.origin) })))
        default:
            guard path.count >= 2, let network = networksByName[path[1]] else { throw Self.notFound(request) }
            return .response(try control(network, request, Array(path.dropFirst(2))))
        }
    }

    static func notFound(_ request: WebRequest) -> APIError {
        APIError(.notFound, "no_route", "there is no route \(request.path)")
    }

    private func describe(_ network: any FakeNetwork, at origin: String) -> NetworkDescription {
        NetworkDescription(
            network: network.service.rawValue,
            url: "\(origin)/\(network.service.rawValue)",
            clientId: network.clientID,
            clientSecret: network.clientSecret,
            accounts: network.community.people.prefix(12).map(network.account)
        )
    }

    private func control(_ network: any FakeNetwork, _ request: WebRequest, _ path: [String]) throws -> WebResponse {
        let community = network.community
        switch (request.method, path.first ?? "", path.count) {
        case (.GET, "", 0): return try .json(describe(network, at: request.origin))
        case (.POST, "accounts", 1):
            let draft = try request.decode(AccountDraft.self)
            let follows = draft.follows.map { Set($0.map { community.findOrCreate($0, follows: []).number }) }
            let person = community.findOrCreate(draft.name, follows: follows)
            if let follows { community.follow(follows, by: person.number) }
            return try .json(network.account(community.person(person.number) ?? person), status: .created)
        case (.GET, "posts", 1): return try posts(request, of: community)
        case (.POST, "posts", 1): return try post(request, on: community)
        case (.PUT, "posts", 2):
            let draft = try request.decode(PostDraft.self)
            guard let post = Int64(path[1]).flatMap({ community.edit($0, to: draft.text) }) else {
                throw Self.notFound(request)
            }
            return try .json(view(post, community))
        case (.DELETE, "posts", 2):
            guard let id = Int64(path[1]), let post = community.post(id),
                community.delete(id, by: post.author) != nil
            else { throw Self.notFound(request) }
            return WebResponse(.noContent)
        case (.POST, "messages", 1):
            let draft = try request.decode(MessageDraft.self)
            let (_, message) = community.sendMessage(
                draft.text,
                by: try person(draft.from, community),
                to: [try person(draft.to, community)]
            )
            return try .json(["id": String(message.id)], status: .created)
        case (.POST, "notices", 1):
            let draft = try request.decode(NoticeDraft.self)
            let (from, to) = (try person(draft.from, community), try person(draft.to, community))
            community.notify(draft.kind, to: to, by: from, about: draft.post.flatMap(Int64.init))
            return WebResponse(.noContent)
        case (.POST, "limits", 1):
            let limits = try request.decode(Limits.self)
            windows.multiply(network.service, by: max(0, min(1_000_000, limits.factor)))
            return try .json(limits)
        case (.GET, "webhooks", 1), (.POST, "webhooks", 1):
            guard let deliveries = network.deliveries else { throw Self.notFound(request) }
            if request.method == .POST { try deliveries.change(request.decode(WebhookSender.DeliveryPlanChanges.self)) }
            return try .json(deliveries.queueStatus)
        default: throw Self.notFound(request)
        }
    }

    private func person(_ name: String, _ community: Community) throws -> Int {
        guard let person = community.person(named: name) else {
            throw APIError.invalid("name", "there is no person named \(name)")
        }
        return person.number
    }

    private func post(_ request: WebRequest, on community: Community) throws -> WebResponse {
        let draft = try request.decode(PostDraft.self)
        var newPost = Community.Draft(text: draft.text)
        if draft.photo == true { newPost.media = [Attachment(id: 500_001, kind: .photo, type: "image/png")] }
        if draft.video == true { newPost.media = [Attachment(id: 700_001, kind: .video, type: "video/mp4")] }
        newPost.parent = draft.inReplyTo.flatMap(Int64.init)
        newPost.original = draft.boosts.flatMap(Int64.init)
        if community.posts(PostRange(limit: 1), where: { _ in true }).posts.first?.room != nil {
            newPost.title = draft.text
            newPost.room = "Music"
        }
        let post = community.publish(newPost, by: try person(draft.author, community))
        return try .json(view(post, community), status: .created)
    }

    /// Returns the newest posts in the sandbox's own format.
    private func posts(_ request: WebRequest, of community: Community) throws -> WebResponse {
        let author = try request.query["author"].map { try person($0, community) }
        let limit = try request.number("limit", default: 20, in: 1...10_000)
        let found = community.posts(PostRange(limit: limit)) { author == nil || $0.author == author }
        return try .json(PostList(posts: found.posts.map { view($0, community) }))
    }

    private func view(_ post: Post, _ community: Community) -> PostView {
        PostView(
            id: String(post.id),
            author: community.person(post.author)?.name ?? "",
            text: post.text,
            createdAt: post.createdAt,
            media: post.media.count,
            likes: post.likes.sorted().compactMap { community.person($0)?.name },
            inReplyTo: post.parent.map { String($0) }
        )
    }

    private func broadcasts(_ request: WebRequest, _ path: [String]) throws -> WebResponse {
        switch (request.method, path.count) {
        case (.GET, 1):
            return try .json(BroadcastList(broadcasts: broadcasts.live, polls: broadcasts.polls))
        case (.POST, 1):
            return try .json(broadcasts.begin(try request.decode(Broadcasts.Draft.self)), status: .created)
        case (.DELETE, 2) where broadcasts.end(path[1]), (.POST, 2) where broadcasts.publish(path[1]):
            return WebResponse(.noContent)
        default: throw Self.notFound(request)
        }
    }
}

// MARK: For tests in the same process

extension Networks {
    /// Returns the credentials of an account, and creates the account when it does not exist.
    package func account(_ name: String, on service: SandboxService, follows: [String]? = nil) -> NetworkAccount? {
        networksByName[service.rawValue].map { network in
            let followed = follows.map { Set($0.map { network.community.findOrCreate($0, follows: []).number }) }
            let person = network.community.findOrCreate(name, follows: followed)
            if let followed { network.community.follow(followed, by: person.number) }
            return network.account(network.community.person(person.number) ?? person)
        }
    }

    /// Creates a token that a person granted to another application than Roost.
    package func token(of name: String, on service: SandboxService, givenTo app: String) -> String? {
        networksByName[service.rawValue].map { network in
            let person = network.community.findOrCreate(name)
            let token = network.newToken(person)
            network.grants.put(token, Grants.Grant(person: person.number, app: app, scopes: ["public_profile"]))
            return token
        }
    }

    package var live: Broadcasts { broadcasts }

    package func multiplyLimits(of service: SandboxService, by factor: Double) {
        windows.multiply(service, by: factor)
    }
}
