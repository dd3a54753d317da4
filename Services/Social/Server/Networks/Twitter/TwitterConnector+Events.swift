import Crypto
import Foundation
import NIOCore
import SocialAPI
import Wire

/// The Account Activity API, with deliveries in the format of API 1.1, and the X Activity API, in that of API 2.
extension TwitterConnector: WebhookConnector {
    /// Responds to the challenge-response check, which Twitter sends hourly.
    func handshake(_ query: [String: String]) throws -> WebhookHandshakeResponse {
        guard let token = query["crc_token"], !token.isEmpty else {
            throw NetworkError(.invalid, "\"crc_token\" is missing", code: "crc_token")
        }
        let response = #"{"response_token":"\#(try signature(of: Data(token.utf8)))"}"#
        return WebhookHandshakeResponse(body: response, contentType: "application/json")
    }

    func events(of delivery: WebhookDelivery) throws -> WebhookEvents {
        let given = delivery.headers["x-twitter-webhooks-signature"] ?? ""
        let body = Data(delivery.body.readableBytesView)
        guard Signatures.isSame(given, try signature(of: body)) else {
            throw NetworkError(.permission, "the delivery is not signed by the network", code: "signature")
        }
        guard let json = try? JSONParser.parse(body, repairing: true) else {
            throw NetworkError(.invalid, "the delivery is not JSON")
        }
        return json["data"]?["event_type"] == nil ? Self.activity(json) : Self.event(json)
    }

    /// Returns `sha256=` and the HMAC with the consumer secret, in Base64.
    private func signature(of data: Data) throws -> String {
        let (_, secret) = try key.registered()
        let code = HMAC<SHA256>.authenticationCode(for: data, using: SymmetricKey(data: Data(secret.utf8)))
        return "sha256=\(Data(code).base64EncodedString())"
    }

    private static func activity(_ json: JSONValue) -> WebhookEvents {
        guard let account = json["for_user_id"]?.identifier else { return WebhookEvents(events: []) }
        let tweets = TwitterV1Items(page: PageRequest())
        let people = (json["users"]?.fields ?? [:]).compactMapValues { user in
            user["id"]?.identifier.map { id in
                ItemAuthor(
                    id: id,
                    name: user["name"]?.nonEmpty ?? id,
                    username: user["screen_name"]?.nonEmpty,
                    avatarUrl: user["profile_image_url_https"]?.link
                )
            }
        }
        let messages = DirectMessageItems(page: PageRequest(), me: account, people: people)
        func makeEvent(_ list: NetworkEvent.List, _ change: NetworkEvent.Change) -> NetworkEvent {
            NetworkEvent(account: account, list: list, change: change)
        }
        var events: [NetworkEvent] = []
        events += json["tweet_create_events"].list.compactMap { tweets.post($0, .post) }.map { item in
            // The account's own tweets go to the feed; those of others arrive because they mention or retweet the
            // account.
            let isOwn = item.item.author?.id == account
            return makeEvent(isOwn ? .feed : .notifications, .created(item))
        }
        events += json["tweet_delete_events"].list.compactMap { $0["status"]?["id"]?.identifier }
            .map { makeEvent(.feed, .deleted($0)) }
        events += json["direct_message_events"].list.compactMap(messages.v1Message)
            .map { makeEvent(.messages, .created(NetworkItem($0))) }
        events += json["favorite_events"].list.compactMap { favorite($0, to: account) }
        events += json["follow_events"].list.compactMap { follow($0, to: account) }
        let at =
            (json["favorite_events"].list + json["follow_events"].list).first?["timestamp_ms"]?.epochMilliseconds
            ?? (json["tweet_create_events"].list + json["direct_message_events"].list).first
            .flatMap { $0["timestamp_ms"] ?? $0["created_timestamp"] }?.epochMilliseconds
        return WebhookEvents(events: events, at: at)
    }

    private static func favorite(_ json: JSONValue, to account: String) -> NetworkEvent? {
        guard let by = TwitterV1Items.author(json["user"]), by.id != account, let id = json["id"]?.identifier,
            let status = json["favorited_status"]?["id_str"]?.identifier
        else { return nil }
        let item = Item(
            id: ItemID(.twitter, "favorite/\(id)"),
            kind: .like,
            author: by,
            text: json["favorited_status"].map(TwitterV1Items.text) ?? "",
            createdAt: time(json),
            about: ItemReference(id: ItemID(.twitter, status))
        )
        return NetworkEvent(account: account, list: .notifications, change: .created(NetworkItem(item)))
    }

    private static func follow(_ json: JSONValue, to account: String) -> NetworkEvent? {
        guard json["type"]?.text == "follow", let by = TwitterV1Items.author(json["source"]), by.id != account else {
            return nil
        }
        let item = Item(
            id: ItemID(.twitter, "follow/\(by.id)/\(Int(time(json).timeIntervalSince1970))"),
            kind: .follow,
            author: by,
            createdAt: time(json),
            url: by.url
        )
        return NetworkEvent(account: account, list: .notifications, change: .created(NetworkItem(item)))
    }

    private static func time(_ json: JSONValue) -> Date {
        (json["timestamp_ms"] ?? json["created_timestamp"])?.epochMilliseconds
            ?? json["created_at"]?.date ?? Date(timeIntervalSince1970: 0)
    }

    /// Parses a delivery of the X Activity API: a single event with its own id.
    private static func event(_ json: JSONValue) -> WebhookEvents {
        let data = json["data"]
        guard let type = data?["event_type"]?.text, let account = data?["filter"]?["user_id"]?.identifier,
            let payload = data?["payload"]
        else { return WebhookEvents(events: []) }
        let parser = TwitterV2Items(page: PageRequest(), response: data ?? .null)
        let change: (NetworkEvent.List, NetworkEvent.Change?) =
            switch type {
            case "post.create": (.feed, parser.post(payload, .post).map { .created($0) })
            case "post.delete": (.feed, payload["id"]?.identifier.map { .deleted($0) })
            case "post.mention.create": (.notifications, parser.post(payload, .mention).map { .created($0) })
            case "post.reply.create": (.notifications, parser.post(payload, .reply).map { .created($0) })
            case "post.quote.create": (.notifications, parser.post(payload, .quote).map { .created($0) })
            case "post.repost.create": (.notifications, parser.post(payload, .repost).map { .created($0) })
            case "dm.received", "dm.sent": (.messages, .ping)
            case "like.create", "follow.follow": (.notifications, .ping)
            default: (.feed, nil)
            }
        let events = change.1.map { [NetworkEvent(account: account, list: change.0, change: $0)] } ?? []
        return WebhookEvents(
            events: events,
            id: data?["event_uuid"]?.identifier,
            at: payload["created_at"]?.date
        )
    }
}
