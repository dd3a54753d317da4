import Foundation
import SocialAPI
import Wire

/// Instagram's Graph for professional accounts; or, where `INSTAGRAM_API` is `v1`, the API that was until 2020, with the feed
/// of those whom one follows, which a stand-in still has.
struct InstagramConnector: Connector {
    let network = Network.instagram
    let key: ApplicationKey
    let graph: MetaGraph
    /// The old API's own ways of refusing.
    let v1Calls: NetworkCalls
    let pause: Pause
    let isV1: Bool

    static let defaultURL = "https://graph.instagram.com"

    init(_ parts: ConnectorParts, pause: @escaping Pause = { try await Task.sleep(for: $0) }) {
        key = parts.key
        isV1 = parts.key.others["API"] == "v1"
        graph = MetaGraph(parts, version: "v24.0")
        v1Calls = NetworkCalls(parts, Self.v1ErrorMapping)
        self.pause = pause
    }

    func identify(_ account: NetworkAccount) async throws -> NetworkIdentity {
        if isV1 {
            let (json, _) = try await read("/users/self", [:], account)
            guard let id = json["data"]?["id"]?.identifier else {
                throw NetworkError(.transient, "Instagram does not say who it is")
            }
            return NetworkIdentity(
                id: id,
                username: json["data"]?["username"]?.text,
                name: json["data"]?["full_name"]?.nonEmpty,
                avatarUrl: json["data"]?["profile_picture"]?.link
            )
        }
        var tokens = account.tokens
        if tokens.expiresAt == nil, let longer = try await extended(tokens) { tokens = longer }
        let (me, _) = try await graph.read("me", ["fields": "user_id,username,name,profile_picture_url"], tokens.access)
        guard let id = (me["user_id"] ?? me["id"])?.identifier else {
            throw NetworkError(.transient, "Instagram does not say who it is")
        }
        return NetworkIdentity(
            id: id,
            username: me["username"]?.text,
            name: me["name"]?.nonEmpty,
            avatarUrl: me["profile_picture_url"]?.link,
            tokens: tokens,
            // The id that the application knows the account by differs from `user_id`.
            aliases: [me["id"]?.identifier].compactMap(\.self)
        )
    }

    /// The API's paths take the numeric id; a client may know the account by its user name.
    func acceptsProvidedID(_ account: NetworkAccount) -> Bool { account.hasNumericID }

    func feed(_ page: PageRequest, as account: NetworkAccount) async throws -> NetworkPage {
        let parser = InstagramItems(page: page)
        if isV1 {
            return try await v1List("/users/self/feed", page, account) { parser.first($0).map { NetworkItem($0) } }
        }
        let (json, budget) = try await graph.list(
            "me/media",
            ["limit": page.limit(100)],
            InstagramItems.fields,
            page,
            account.tokens.access
        )
        return try lists(json, page, budget) { parser.media($0, of: account).map { NetworkItem($0) } }
    }

    /// The old API had none: who liked and commented on one's own latest media is as near as it comes.
    func notifications(_ page: PageRequest, as account: NetworkAccount) async throws -> NetworkPage {
        guard isV1 else { throw NetworkError.unsupported("Instagram tells of what happens by webhooks alone") }
        let parser = InstagramItems(page: page)
        let id = account.id ?? "self"
        let media = try await v1Media("/users/\(id.pathSegment)/media/recent", page, account)
        var items = media.values.flatMap { parser.reactions(to: $0, of: account) }
        items.sort { $0.createdAt > $1.createdAt }
        return NetworkPage(items.map { NetworkItem($0) }, next: media.next, budget: media.budget)
    }

    func threads(_ page: PageRequest, as account: NetworkAccount) async throws -> NetworkPage {
        guard !isV1 else { throw NetworkError.unsupported("Instagram had no messages") }
        let parser = InstagramItems(page: page)
        let (json, budget) = try await graph.list(
            "me/conversations",
            ["platform": "instagram", "limit": page.limit(50)],
            "id,updated_time,participants,messages.limit(1){id,created_time,from,message}",
            page,
            account.tokens.access
        )
        return try lists(json, page, budget) { parser.conversation($0, of: account).map { NetworkItem($0) } }
    }

    func messages(of thread: String, _ page: PageRequest, as account: NetworkAccount) async throws -> NetworkPage {
        guard !isV1 else { throw NetworkError.unsupported("Instagram had no messages") }
        let parser = InstagramItems(page: page)
        let (json, budget) = try await graph.list(
            "\(thread.pathSegment)/messages",
            ["limit": page.limit(20)],
            "id,created_time,from,to,message,attachments",
            page,
            account.tokens.access
        )
        return try lists(json, page, budget) { parser.message($0, in: thread).map { NetworkItem($0) } }
    }

    private func lists(
        _ json: JSONValue,
        _ page: PageRequest,
        _ budget: Budget?,
        _ item: (JSONValue) -> NetworkItem?
    ) throws -> NetworkPage {
        guard case .array(let values)? = json["data"] else {
            throw NetworkError(.transient, "Instagram's answer is no list", budget: budget)
        }
        return NetworkPage(values.compactMap(item), next: try graph.next(json, after: page), budget: budget)
    }
}
