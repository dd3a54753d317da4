import Foundation
import NIOCore
import SocialAPI
import Wire

@testable import SocialServer

/// Sends webhooks, and events on open streams.
extension MemoryNetwork: WebhookConnector, StreamingConnector {
    func handshake(_ query: [String: String]) throws -> WebhookHandshakeResponse {
        guard query["hub.verify_token"] == "ours" else { throw NetworkError(.permission, "the token is wrong") }
        return WebhookHandshakeResponse(body: query["hub.challenge"] ?? "")
    }

    /// Reads a delivery whose lines are account, change and item: `id of ann created new 7`.
    ///
    /// `said` is a private message whose sender has only the id 4711, as in Meta's webhooks.
    func events(of delivery: WebhookDelivery) throws -> WebhookEvents {
        guard delivery.headers["x-signature"] == "good" else { throw NetworkError(.permission, "not signed") }
        let openStreams = String(buffer: delivery.body).split(separator: "\n").map {
            $0.split(separator: " ").map(String.init)
        }
        let events = try openStreams.map { words in
            guard words.count == 6, let time = Int(words[5]) else { throw NetworkError(.invalid, "not an event") }
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
        if !behavior.value.acceptsSubscriptions { throw NetworkError(.permission, "the application may not subscribe") }
    }

    func unsubscribe(_ account: NetworkAccount) async throws {
        asked.change { $0.append("unsubscribe \(account.tokens.access)") }
    }

    func events(as account: NetworkAccount) async throws -> PulledSequence<NetworkEvent> {
        asked.change { $0.append("events \(account.tokens.access)") }
        let (stream, continuation) = AsyncThrowingStream<NetworkEvent, any Error>.makeStream()
        openStreams.change { $0[account.tokens.access] = continuation }
        return PulledSequence(stream)
    }
}

/// Has a consent page on which every user agrees.
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
            throw NetworkError(.permission, "the user did not agree")
        }
        return AuthorizedAccount(tokens: NetworkTokens(access: "granted to \(request.verifier.count)"))
    }

    func clientMetadata(callback: String) throws -> JSONValue? {
        network == .twitter ? .object(["redirect_uris": .array([.string(callback)])]) : nil
    }
}

extension MemoryNetwork {
    /// Returns a private message by Bo in the thread with Bo.
    func message(_ id: String, at time: Int, from author: ItemAuthor = .bo) -> NetworkItem {
        var message = item(id, at: time)
        (message.item.kind, message.item.author) = (.message, author)
        message.item.thread = author == .numbered ? author.id : "t1"
        return message
    }

    /// Makes the user's only thread, with Bo, of messages that are sorted newest first.
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
