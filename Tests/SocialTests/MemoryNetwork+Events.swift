import Foundation
import NIOCore
import SocialAPI
import Wire

@testable import SocialServer

/// Calls us, and holds a line open to us.
extension MemoryNetwork: WebhookConnector, StreamingConnector {
    func handshake(_ query: [String: String]) throws -> WebhookHandshakeResponse {
        guard query["hub.verify_token"] == "ours" else { throw NetworkError(.permission, "another's token") }
        return WebhookHandshakeResponse(body: query["hub.challenge"] ?? "")
    }

    /// A delivery is lines of account, change and item: `id of ann created new 7`.
    ///
    /// `said` is a private message whose sender is given by the number 4711 alone, as Meta's webhooks do.
    func events(of delivery: WebhookDelivery) throws -> WebhookEvents {
        guard delivery.headers["x-signature"] == "good" else { throw NetworkError(.permission, "not signed") }
        let openStreams = String(buffer: delivery.body).split(separator: "\n").map {
            $0.split(separator: " ").map(String.init)
        }
        let events = try openStreams.map { words in
            guard words.count == 6, let time = Int(words[5]) else { throw NetworkError(.invalid, "no event") }
            let item = words[3] == "said" ? message(words[4], at: time, from: .numbered) : item(words[4], at: time)
            let change: NetworkEvent.Change =
                switch words[3] {
                case "created", "said": .created(item)
                case "deleted": .deleted(words[4])
                default: .ping
                }
            let list: NetworkEvent.List = words[3] == "said" ? .messages : .feed
            return NetworkEvent(account: words[0...2].joined(separator: " "), list: list, change: change)
        }
        let age = delivery.headers["x-age"].flatMap { TimeInterval($0) } ?? 0
        return WebhookEvents(events: events, id: delivery.headers["x-id"], at: clock().addingTimeInterval(-age))
    }

    func subscribe(_ account: NetworkAccount) async throws {
        asked.change { $0.append("subscribe \(account.tokens.access)") }
        if !behavior.value.acceptsSubscriptions { throw NetworkError(.permission, "the application may not be told") }
    }

    func unsubscribe(_ account: NetworkAccount) async throws {
        asked.change { $0.append("unsubscribe \(account.tokens.access)") }
    }

    func events(as account: NetworkAccount) async throws -> PulledSequence<NetworkEvent> {
        asked.change { $0.append("events \(account.tokens.access)") }
        let (stream, told) = AsyncThrowingStream<NetworkEvent, any Error>.makeStream()
        openStreams.change { $0[account.tokens.access] = told }
        return PulledSequence(stream)
    }
}

/// Has a consent page: whoever comes to it has agreed.
extension MemoryNetwork: OAuthConnector {
    func authorize(_ request: AuthorizationRequest) async throws -> Authorization {
        let url = "https://\(network.rawValue).example/consent?state=\(request.state)&to=\(request.callback)"
        return Authorization(url: url, payload: ["secret": "kept for \(request.state)"])
    }

    func complete(
        _ query: [String: String],
        of authorization: Authorization,
        for request: AuthorizationRequest
    ) async throws -> AuthorizedAccount {
        guard query["code"] == "granted", authorization.payload["secret"] == "kept for \(request.state)" else {
            throw NetworkError(.permission, "he did not agree")
        }
        return AuthorizedAccount(tokens: NetworkTokens(access: "granted to \(request.verifier.count)"))
    }

    func clientMetadata(callback: String) throws -> JSONValue? {
        network == .twitter ? .object(["redirect_uris": .array([.string(callback)])]) : nil
    }
}

extension MemoryNetwork {
    /// A private message of Bo, in his thread.
    func message(_ id: String, at time: Int, from author: ItemAuthor = .bo) -> NetworkItem {
        var message = item(id, at: time)
        (message.item.kind, message.item.author) = (.message, author)
        message.item.thread = author == .numbered ? author.id : "t1"
        return message
    }

    /// Makes a user's only thread, with Bo, from its messages, the newest first.
    func fill(threadOf name: String, _ messages: [NetworkItem]) {
        guard let last = messages.first?.item else { return }
        var thread = last
        (thread.id, thread.kind, thread.thread) = (ItemID(network, "thread/t1"), .thread, "t1")
        thread.participants = [.bo]
        lists.change {
            $0[name + "/threads"] = [NetworkItem(thread)]
            $0[name + "/threads/t1"] = messages
        }
    }
}

extension ItemAuthor {
    static let bo = ItemAuthor(id: "4711", name: "Bo", username: "bo")
    static let numbered = ItemAuthor(id: "4711", name: "4711")
}
