import Foundation
import SocialAPI
import Wire

/// The connector of Instagram's Graph API for professional accounts.
///
/// With `INSTAGRAM_API=v1` it uses the API that Instagram had until 2020 and a stand-in may still have. It has
/// the feed of the accounts that the user follows.
struct InstagramConnector: Connector {
    let network = Network.instagram
    let key: ApplicationKey
    let graph: MetaGraph
    /// The calls with the error mapping of the v1 API.
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
                throw NetworkError(.transient, "Instagram did not identify the account")
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
            throw NetworkError(.transient, "Instagram did not identify the account")
        }
        return NetworkIdentity(
            id: id,
            username: me["username"]?.text,
            name: me["name"]?.nonEmpty,
            avatarUrl: me["profile_picture_url"]?.link,
            tokens: tokens,
            // The id that the application sees differs from `user_id`.
            aliases: [me["id"]?.identifier].compactMap(\.self)
        )
    }

    /// The API's paths require the numeric id, but a client may know the account by its user name.
    func acceptsProvidedID(_ account: NetworkAccount) -> Bool { account.hasNumericID }

    func feed(_ page: PageRequest, as account: NetworkAccount) async throws -> NetworkPage {
        let parser = InstagramItems(page: page)
        if isV1 {
            return try await v1List("/users/self/feed", page, account) { parser.v1Post($0).map { NetworkItem($0) } }
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

    /// Returns the likes and comments on the account's latest media, because the v1 API has no notifications.
    func notifications(_ page: PageRequest, as account: NetworkAccount) async throws -> NetworkPage {
        guard isV1 else { throw NetworkError.unsupported("Instagram reports events only by webhook") }
        let parser = InstagramItems(page: page)
        let id = account.id ?? "self"
        let media = try await v1Media("/users/\(id.pathSegment)/media/recent", page, account)
        var items = media.values.flatMap { parser.reactions(to: $0, of: account) }
        items.sort { $0.createdAt > $1.createdAt }
        return NetworkPage(items.map { NetworkItem($0) }, next: media.next, budget: media.budget)
    }

    func threads(_ page: PageRequest, as account: NetworkAccount) async throws -> NetworkPage {
        guard !isV1 else { throw NetworkError.unsupported("Instagram's v1 API has no messages") }
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
        guard !isV1 else { throw NetworkError.unsupported("Instagram's v1 API has no messages") }
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
            throw NetworkError(.transient, "Instagram's response is not a list", budget: budget)
        }
        return NetworkPage(values.compactMap(item), next: try graph.next(json, after: page), budget: budget)
    }
}
