import Foundation
import SocialAPI
import Wire

extension FacebookConnector: WebhookConnector {
    /// The events of a page, including its own messages; the events of a personal account need no subscription.
    private static let fields = "feed,mention,messages,message_echoes"

    func handshake(_ query: [String: String]) throws -> WebhookHandshakeResponse {
        try MetaWebhooks.handshake(query, key)
    }

    func subscribe(_ account: NetworkAccount) async throws {
        guard !isPersonal else { return }
        try await graph.subscribe(me(account), to: Self.fields, account.tokens.access)
    }

    func unsubscribe(_ account: NetworkAccount) async throws {
        guard !isPersonal else { return }
        try await graph.unsubscribe(me(account), account.tokens.access)
    }

    func events(of delivery: WebhookDelivery) throws -> WebhookEvents {
        let json = try MetaWebhooks.body(of: delivery, key)
        let entries = json["entry"].list
        let events = entries.flatMap { entry -> [NetworkEvent] in
            guard let account = (entry["id"] ?? entry["uid"])?.identifier else { return [] }
            let messages = entry["messaging"].list.compactMap {
                MetaWebhooks.message($0, to: account, of: .facebook)
            }
            // Webhooks of 2015 only say that something has changed.
            let pings =
                entry["changed_fields"].list.isEmpty
                ? [] : [NetworkEvent(account: account, list: .feed, change: .ping)]
            return messages + pings + entry["changes"].list.compactMap { change($0, of: account) }
        }
        return WebhookEvents(events: events, at: entries.compactMap { $0["time"]?.epoch }.max())
    }

    private func change(_ json: JSONValue, of account: String) -> NetworkEvent? {
        guard let field = json["field"]?.text, let value = json["value"] else { return nil }
        let isOwn = value["from"]?["id"]?.identifier == account
        let verb = value["verb"]?.text ?? "add"
        switch (field, value["item"]?.text ?? "") {
        case ("feed", "post"), ("feed", "status"), ("feed", "photo"), ("feed", "video"), ("feed", "share"):
            guard let id = value["post_id"]?.identifier else { return nil }
            return event(account, .feed, verb, id, value, kind: .post)
        case ("feed", "comment"):
            guard !isOwn, let id = value["comment_id"]?.identifier else { return nil }
            return event(account, .notifications, verb, id, value, kind: .comment)
        case ("feed", "like"), ("feed", "reaction"):
            guard !isOwn, let post = value["post_id"]?.identifier, let by = value["from"]?["id"]?.identifier else {
                return nil
            }
            let kind: ItemKind = value["reaction_type"]?.text ?? "like" == "like" ? .like : .reaction
            return event(account, .notifications, verb, "reaction/\(post)/\(by)", value, kind: kind)
        case ("mention", _):
            guard let id = value["post_id"]?.identifier else { return nil }
            return event(account, .notifications, verb, id, value, kind: .mention)
        default: return nil
        }
    }

    private func event(
        _ account: String,
        _ list: NetworkEvent.List,
        _ verb: String,
        _ id: String,
        _ value: JSONValue,
        kind: ItemKind
    ) -> NetworkEvent? {
        guard verb != "remove", verb != "hide" else {
            return NetworkEvent(account: account, list: list, change: .deleted(id))
        }
        let by = value["from"]
        let post = value["post_id"]?.identifier.flatMap { $0 == id ? nil : $0 }
        let item = Item(
            id: ItemID(.facebook, id),
            kind: kind,
            author: by?["id"]?.identifier.map { ItemAuthor(id: $0, name: by?["name"]?.nonEmpty ?? $0) },
            text: value["message"]?.text ?? "",
            media: value["photo"]?.link.map { [ItemMedia(kind: .photo, url: $0)] } ?? [],
            createdAt: value["created_time"]?.epoch ?? value["created_time"]?.date ?? graph.calls.now(),
            url: value["post"]?["permalink_url"]?.link,
            about: post.map { ItemReference(id: ItemID(.facebook, $0)) }
        )
        let networkItem = NetworkItem(item)
        return NetworkEvent(
            account: account,
            list: list,
            change: verb == "edited" ? .updated(networkItem) : .created(networkItem)
        )
    }
}
