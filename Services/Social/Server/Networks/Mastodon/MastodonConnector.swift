import Foundation
import HTTPTypes
import SocialAPI
import Wire

/// The connector of Mastodon and servers with its API: Pleroma, Akkoma, GoToSocial, Pixelfed and Friendica.
///
/// Each account has its own instance. Users supply the instance's address, so all requests use a `NetworkHTTP` that
/// connects only to public hosts and to hosts that the operator allows. The limits of an instance are read when an
/// account is linked, and stored in the account's details.
struct MastodonConnector: Connector {
    let network = Network.mastodon
    let calls: NetworkCalls
    let pause: Pause

    init(_ parts: ConnectorParts, pause: @escaping Pause = { try await Task.sleep(for: $0) }) {
        calls = NetworkCalls(parts, Self.errorMapping)
        self.pause = pause
    }

    /// The position in a list: everything older than a status, a conversation's last status or a notification.
    private struct Position: Codable { var before: String }

    func identify(_ account: NetworkAccount) async throws -> NetworkIdentity {
        let (me, _) = try await calls.json(request(.get(at("/api/v1/accounts/verify_credentials", account)), account))
        guard let id = me["id"]?.identifier else {
            throw NetworkError(.transient, "the instance did not identify the account")
        }
        let instance = try? await calls.json(.get(at("/api/v2/instance", account)))  // without it the defaults apply
        let name = me["username"]?.nonEmpty
        let host = account.instance.flatMap { URL(string: $0)?.host() }
        return NetworkIdentity(
            id: id,
            username: me["acct"]?.text ?? me["username"]?.text,
            name: me["display_name"]?.nonEmpty,
            avatarUrl: me["avatar"]?.link,
            details: instance.map { MastodonLimits.details($0.json) } ?? [:],
            aliases: [name, name.flatMap { name in host.map { "\(name)@\($0)" } }].compactMap(\.self)
        )
    }

    func feed(_ page: PageRequest, as account: NetworkAccount) async throws -> NetworkPage {
        let parser = MastodonItems(page: page)
        return try await list("/api/v1/timelines/home", page, 40, account) { parser.post($0) }
    }

    func threads(_ page: PageRequest, as account: NetworkAccount) async throws -> NetworkPage {
        let parser = MastodonItems(page: page)
        return try await list("/api/v1/conversations", page, 40, account) { parser.thread($0).map { NetworkItem($0) } }
    }

    func notifications(_ page: PageRequest, as account: NetworkAccount) async throws -> NetworkPage {
        let parser = MastodonItems(page: page)
        return try await list("/api/v1/notifications", page, 40, account) { json in
            parser.notification(json).map { NetworkItem($0) }
        }
    }

    /// Returns the messages of a thread.
    ///
    /// Any status of a thread identifies the thread, because the instance returns all statuses around it.
    func messages(of thread: String, _ page: PageRequest, as account: NetworkAccount) async throws -> NetworkPage {
        let before = try page.position(Position.self)?.before
        let (statuses, budget) = try await conversation(thread, account)
        let older = statuses.filter { status in before.map { Self.isOlder(status, than: $0) } ?? true }
        let parser = MastodonItems(page: page)
        let shown = older.prefix(max(page.limit, 1))
        let next = shown.count < older.count ? shown.last?["id"]?.identifier : nil
        return NetworkPage(
            shown.compactMap { parser.message($0, in: thread).map { NetworkItem($0) } },
            next: try next.map { try NetworkCursor(Position(before: $0)) },
            budget: budget
        )
    }

    func like(_ id: String, as account: NetworkAccount) async throws -> PublishedPost {
        let path = at("/api/v1/statuses/\(id.pathSegment)/favourite", account)
        let (status, budget) = try await calls.json(request(.form(path, [:]), account), isWrite: true)
        return PublishedPost(id: id, url: status["url"]?.link, budget: budget)
    }
}

extension MastodonConnector {
    /// Returns a page.
    ///
    /// Only the `max_id` of the `Link` header is used, so no URL from a response is followed.
    private func list(
        _ path: String,
        _ page: PageRequest,
        _ most: Int,
        _ account: NetworkAccount,
        _ item: (JSONValue) -> NetworkItem?
    ) async throws -> NetworkPage {
        let position = try page.position(Position.self)
        let url = at(path, account).adding(["limit": page.limit(most), "max_id": position?.before])
        let response = try await calls.send(request(.get(url), account))
        // Status 206 means an incomplete list, which must not be mistaken for the whole list.
        guard response.status != 206 else {
            throw NetworkError(.transient, "the instance is rebuilding the list", code: "206", budget: response.budget)
        }
        guard case .array(let values) = response.json else {
            throw NetworkError(.transient, "the instance's response is not a list", budget: response.budget)
        }
        let next = response.header("link").flatMap { LinkHeader($0)["next"] }.flatMap {
            LinkHeader.value("max_id", in: $0)
        }
        let nextID = ListCursor.next(next, after: position?.before, isEmpty: values.isEmpty)
        return NetworkPage(
            values.compactMap(item),
            next: try nextID.map { try NetworkCursor(Position(before: $0)) },
            budget: response.budget
        )
    }

    /// Returns the direct statuses around a status, newest first.
    func conversation(_ id: String, _ account: NetworkAccount) async throws -> (statuses: [JSONValue], budget: Budget?)
    {
        let path = at("/api/v1/statuses/\(id.pathSegment)", account)
        async let around = calls.json(request(.get("\(path)/context"), account))
        async let status = calls.json(request(.get(path), account))
        let (context, budget) = try await around
        let all = context["ancestors"].list + [try await status.json] + context["descendants"].list
        return (
            all.filter { $0["visibility"]?.text == "direct" }.sorted {
                Self.isOlder($1, than: $0["id"]?.identifier ?? "")
            },
            budget
        )
    }

    /// Compares ids, which are increasing numbers in decimal.
    static func isOlder(_ status: JSONValue, than id: String) -> Bool {
        let own = status["id"]?.identifier ?? ""
        return own.utf8.count == id.utf8.count ? own < id : own.utf8.count < id.utf8.count
    }

    func at(_ path: String, _ account: NetworkAccount) -> String { (account.instance ?? "") + path }

    func request(_ request: NetworkRequest, _ account: NetworkAccount) -> NetworkRequest {
        request.bearer(account.tokens.access)
    }

    /// Error texts are in the account's language, so only the status decides the class of an error.
    static let errorMapping = NetworkErrorMapping(
        budget: { response, _ in
            response.budget(
                .account,
                limit: "x-ratelimit-limit",
                remaining: "x-ratelimit-remaining",
                reset: "x-ratelimit-reset",
                as: NetworkTime.date
            )
        },
        mappedError: { response in .status(response, response.json?["error"]?.text) }
    )
}
