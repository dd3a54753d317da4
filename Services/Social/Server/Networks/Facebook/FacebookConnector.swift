import Foundation
import SocialAPI
import Wire

/// The connector of Facebook's Graph API.
///
/// It reads a page's own feed and conversations, as Facebook allows today. With `FACEBOOK_API=personal` it reads a
/// person's home feed, inbox and notifications, which Facebook had until 2015 and a stand-in may still have.
struct FacebookConnector: Connector {
    let network = Network.facebook
    let key: ApplicationKey
    let graph: MetaGraph
    let pause: Pause
    let isPersonal: Bool

    static let defaultURL = "https://graph.facebook.com"

    init(_ parts: ConnectorParts, pause: @escaping Pause = { try await Task.sleep(for: $0) }) {
        key = parts.key
        isPersonal = parts.key.others["API"] == "personal"
        graph = MetaGraph(parts, version: isPersonal ? "v2.3" : "v24.0")
        self.pause = pause
    }

    /// Identifies a person and links one of their pages, the first or the named one, with the page's own token.
    func identify(_ account: NetworkAccount) async throws -> NetworkIdentity {
        var token = account.tokens
        if !isPersonal, let longer = try await extended(token) { token = longer }
        let (me, _) = try await graph.read("me", ["fields": "id,name,picture"], token.access)
        guard let id = me["id"]?.identifier else {
            throw NetworkError(.transient, "Facebook did not identify the account")
        }
        let name = me["name"]?.nonEmpty
        let avatar = me["picture"]?["data"]?["url"]?.link
        let person = [id, name, me["username"]?.nonEmpty].compactMap(\.self)
        let own = NetworkIdentity(
            id: id,
            username: name,
            name: name,
            avatarUrl: avatar,
            tokens: token,
            aliases: person
        )
        guard !isPersonal else { return own }
        guard let page = try await page(account.id, token.access) else {
            // The token already belongs to a page.
            return own
        }
        return NetworkIdentity(
            id: page["id"]?.identifier ?? id,
            username: page["name"]?.nonEmpty,
            name: page["name"]?.nonEmpty,
            avatarUrl: page["picture"]?["data"]?["url"]?.link,
            details: ["person": id],
            // A page's token from a person's long-lived token does not expire.
            tokens: NetworkTokens(access: page["access_token"]?.nonEmpty ?? token.access),
            // Clients know the id of the person who signed in, not that of the page (seed comblie).
            aliases: person
        )
    }

    /// A client's id may be that of the person; only `identify` finds the page and its token.
    func acceptsProvidedID(_ account: NetworkAccount) -> Bool { isPersonal && account.id != nil }

    private func page(_ wanted: String?, _ token: String) async throws -> JSONValue? {
        do {
            let (json, _) = try await graph.read("me/accounts", ["fields": "id,name,access_token,tasks,picture"], token)
            let pages = json["data"].list
            let named = pages.first { page in
                guard let id = page["id"]?.identifier, let wanted else { return false }
                return NetworkIdentity(id: id, username: page["name"]?.nonEmpty).matches(wanted)
            }
            return named ?? pages.first
        } catch let error as NetworkError where [.invalid, .notFound, .permission, .unsupported].contains(error.kind) {
            // The token belongs to a page, which has no pages of its own.
            return nil
        }
    }

    func feed(_ page: PageRequest, as account: NetworkAccount) async throws -> NetworkPage {
        let path = isPersonal ? "me/home" : "\(me(account))/feed"
        let fields = isPersonal ? FacebookItems.homeFields : FacebookItems.pageFields
        let (json, budget) = try await graph.list(path, ["limit": page.limit(100)], fields, page, account.tokens.access)
        let parser = FacebookItems(page: page)
        return try lists(json, page, budget) { parser.post($0).map { NetworkItem($0) } }
    }

    func notifications(_ page: PageRequest, as account: NetworkAccount) async throws -> NetworkPage {
        guard isPersonal else { throw NetworkError.unsupported("pages have no list of notifications") }
        let query: KeyValuePairs = ["include_read": Optional("true"), "limit": page.limit(100)]
        let (json, budget) = try await graph.list("me/notifications", query, nil, page, account.tokens.access)
        let parser = FacebookItems(page: page)
        return try lists(json, page, budget) { parser.notification($0).map { NetworkItem($0) } }
    }

    func threads(_ page: PageRequest, as account: NetworkAccount) async throws -> NetworkPage {
        let parser = FacebookItems(page: page)
        if isPersonal {
            let limit = ["limit": page.limit(100)] as KeyValuePairs<String, String?>
            let (json, budget) = try await graph.list("me/inbox", limit, nil, page, account.tokens.access)
            return try lists(json, page, budget) { parser.inboxThread($0, of: account).map { NetworkItem($0) } }
        }
        let query: KeyValuePairs = ["platform": Optional("messenger"), "limit": page.limit(100)]
        let fields = "id,updated_time,snippet,unread_count,message_count,participants,can_reply,link"
        let path = "\(me(account))/conversations"
        let (json, budget) = try await graph.list(path, query, fields, page, account.tokens.access)
        return try lists(json, page, budget) { parser.conversation($0, of: account).map { NetworkItem($0) } }
    }

    func messages(of thread: String, _ page: PageRequest, as account: NetworkAccount) async throws -> NetworkPage {
        let parser = FacebookItems(page: page)
        let edge = isPersonal ? "comments" : "messages"
        let fields = isPersonal ? nil : "id,created_time,from,to,message,attachments"
        let (json, budget) = try await graph.list(
            "\(thread.pathSegment)/\(edge)",
            ["limit": page.limit(isPersonal ? 100 : 20)],
            fields,
            page,
            account.tokens.access
        )
        var messages = try lists(json, page, budget) { parser.message($0, in: thread).map { NetworkItem($0) } }
        // Comments are listed oldest first, although their next pages lead to older ones.
        messages.items.sort { $0.item.createdAt > $1.item.createdAt }
        return messages
    }

    private func lists(
        _ json: JSONValue,
        _ page: PageRequest,
        _ budget: Budget?,
        _ item: (JSONValue) -> NetworkItem?
    ) throws -> NetworkPage {
        guard case .array(let values)? = json["data"] else {
            throw NetworkError(.transient, "Facebook's response is not a list", budget: budget)
        }
        return NetworkPage(values.compactMap(item), next: try graph.next(json, after: page), budget: budget)
    }

    func me(_ account: NetworkAccount) -> String { account.id?.pathSegment ?? "me" }
}
