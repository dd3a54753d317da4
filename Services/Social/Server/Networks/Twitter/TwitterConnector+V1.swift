import Foundation
import OAuth1
import SocialAPI
import Wire

extension TwitterConnector {
    /// `max_id` is inclusive: the next page begins below the lowest id of this one.
    private struct Position: Codable { var max: String }

    func timeline(
        _ path: String,
        _ page: PageRequest,
        _ account: NetworkAccount,
        _ kind: ItemKind
    ) async throws -> NetworkPage {
        let url = "\(key.baseURL)/1.1/\(path).json".adding([
            "count": page.limit(200), "max_id": try page.position(Position.self)?.max, "tweet_mode": "extended",
        ])
        let (json, budget) = try await send(.get(url), account)
        guard case .array(let tweets) = json else {
            throw NetworkError(.transient, "the network's response is not a list", budget: budget)
        }
        let parser = TwitterV1Items(page: page)
        return NetworkPage(
            tweets.compactMap { parser.post($0, kind) },
            next: try Self.next(tweets),
            budget: budget
        )
    }

    /// Returns the next position.
    ///
    /// A page may be short, because hidden tweets are removed from it; only an empty one is last.
    private static func next(_ tweets: [JSONValue]) throws -> NetworkCursor? {
        let ids = tweets.compactMap { $0["id_str"]?.identifier ?? $0["id"]?.identifier }.compactMap { Int64($0) }
        return try ids.min().map { try NetworkCursor(Position(max: String($0 - 1))) }
    }

    // MARK: Direct messages

    private struct MessagePosition: Codable { var cursor: String }

    /// Returns the threads of a page of messages, grouped by member: the API lists messages of 30 days, and no threads.
    ///
    /// A thread that continues on the next page appears there again, with an older message as its last.
    func threads(_ page: PageRequest, as account: NetworkAccount) async throws -> NetworkPage {
        guard !isV2(account) else { return try await v2Threads(page, account) }
        let (events, people, next, budget) = try await messages(page, account)
        let parser = DirectMessageItems(page: page, me: account.id, people: people)
        let threads = parser.threads(events.compactMap(parser.v1Message))
        return NetworkPage(threads.map { NetworkItem($0) }, next: next, budget: budget)
    }

    func messages(of thread: String, _ page: PageRequest, as account: NetworkAccount) async throws -> NetworkPage {
        guard !isV2(account) else { return try await v2Messages(thread, page, account) }
        var wide = page
        // The list has the messages of all threads, so a large page is necessary.
        wide.limit = 50
        let (events, people, next, budget) = try await messages(wide, account)
        let parser = DirectMessageItems(page: page, me: account.id, people: people)
        let inThread = events.compactMap(parser.v1Message).filter { $0.thread == thread }
        return NetworkPage(inThread.map { NetworkItem($0) }, next: next, budget: budget)
    }

    /// Returns a page of events; an empty page may have a next page.
    private func messages(
        _ page: PageRequest,
        _ account: NetworkAccount
    ) async throws -> (events: [JSONValue], people: [String: ItemAuthor], next: NetworkCursor?, budget: Budget?) {
        let cursor = try page.position(MessagePosition.self)?.cursor
        let url = "\(key.baseURL)/1.1/direct_messages/events/list.json"
            .adding(["count": page.limit(50), "cursor": cursor])
        let (json, budget) = try await send(.get(url), account)
        let all = json["events"].list
        let events = all.filter { $0["type"]?.text == "message_create" }
        let nextCursor = json["next_cursor"]?.nonEmpty.flatMap { $0 == "0" ? nil : $0 }
        let next = ListCursor.next(nextCursor, after: cursor, isEmpty: all.isEmpty)
        return (
            events,
            try await people(in: events, account),
            try next.map { try NetworkCursor(MessagePosition(cursor: $0)) },
            budget
        )
    }

    /// Returns the people in events, which only have their ids, with one request per page; empty if the request fails.
    private func people(in events: [JSONValue], _ account: NetworkAccount) async throws -> [String: ItemAuthor] {
        let ids = Set(
            events.flatMap { event in
                let message = event["message_create"]
                return [message?["sender_id"]?.identifier, message?["target"]?["recipient_id"]?.identifier]
                    .compactMap { $0 }
            }
        )
        guard !ids.isEmpty else { return [:] }
        let wanted = ids.sorted().prefix(100).joined(separator: ",")
        do {
            let (json, _) = try await send(form: "\(key.baseURL)/1.1/users/lookup.json", ["user_id": wanted], account)
            let authors = json.list.compactMap { TwitterV1Items.author($0) }
            return Dictionary(authors.map { ($0.id, $0) }) { first, _ in first }
        } catch is NetworkError {
            return [:]
        }
    }
}
