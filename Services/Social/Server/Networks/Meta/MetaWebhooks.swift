import Foundation
import NIOCore
import SocialAPI
import Wire

/// Meta's webhooks: the handshake, and signatures over the original body.
enum MetaWebhooks {
    /// Returns `hub.challenge` if the request has the configured verify token.
    static func handshake(_ query: [String: String], _ key: ApplicationKey) throws -> WebhookHandshakeResponse {
        guard let token = key.others["VERIFY_TOKEN"], !token.isEmpty, query["hub.mode"] == "subscribe",
            Signatures.isSame(query["hub.verify_token"] ?? "", token)
        else { throw NetworkError(.permission, "the verify token is wrong", code: "verify_token") }
        guard let challenge = query["hub.challenge"], challenge.utf8.count <= 1_024 else {
            throw NetworkError(
                .invalid,
                "\"hub.challenge\" is missing or longer than 1,024 bytes",
                code: "hub.challenge"
            )
        }
        return WebhookHandshakeResponse(body: challenge)
    }

    /// Returns the JSON of a delivery with a valid `X-Hub-Signature-256`, or `X-Hub-Signature` as in 2015.
    static func body(of delivery: WebhookDelivery, _ key: ApplicationKey) throws -> JSONValue {
        let body = Data(delivery.body.readableBytesView)
        guard let secret = key.secret, !secret.isEmpty else {
            throw NetworkError(.permission, "no client secret is configured for this network", code: "signature")
        }
        let isSigned: Bool
        if let given = delivery.headers["x-hub-signature-256"] {
            isSigned = Signatures.isSame(given, "sha256=\(Signatures.sha256(body, key: secret))")
        } else {
            let given = delivery.headers["x-hub-signature"] ?? ""
            let code = Signatures.sha1(body, key: secret)
            isSigned = Signatures.isSame(given, "sha1=\(code)") || Signatures.isSame(given, code)
        }
        guard isSigned else {
            throw NetworkError(.permission, "the delivery is not signed by the network", code: "signature")
        }
        guard let json = try? JSONParser.parse(body, repairing: true) else {
            throw NetworkError(.invalid, "the delivery is not JSON")
        }
        return json
    }

    /// Parses a message of Facebook's pages or Instagram; messages that the account itself sends arrive as echoes.
    static func message(_ json: JSONValue, to account: String, of network: Network) -> NetworkEvent? {
        guard let sender = json["sender"]?["id"]?.identifier, let message = json["message"],
            let id = message["mid"]?.nonEmpty, let time = json["timestamp"]?.epochMilliseconds,
            let recipient = json["recipient"]?["id"]?.identifier
        else { return nil }
        let item = Item(
            id: ItemID(network, id),
            kind: .message,
            author: ItemAuthor(id: sender, name: sender),
            text: message["text"]?.text ?? "",
            media: message["attachments"].list.compactMap { attachment in
                attachment["payload"]?["url"]?.link.map { url in
                    let kinds: [String: ItemMedia.Kind] = ["image": .photo, "video": .video, "audio": .audio]
                    return ItemMedia(kind: kinds[attachment["type"]?.text ?? ""] ?? .other, url: url)
                }
            },
            createdAt: time,
            // Deliveries name people, not conversations.
            thread: sender == account ? recipient : sender
        )
        if message["is_deleted"]?.flag == true {
            return NetworkEvent(account: account, list: .messages, change: .deleted(id))
        }
        return NetworkEvent(account: account, list: .messages, change: .created(NetworkItem(item)))
    }
}
