import Foundation
import NIOHTTP1
import Wire

/// Direct messages. In the AT Protocol they are a separate service, reached through the same server.
extension Bluesky {
    func chat(_ method: String, _ request: NetworkRequest, by caller: Caller) throws -> WebResponse? {
        switch method {
        case "chat.bsky.convo.listConvos": return list(request, by: caller)
        case "chat.bsky.convo.getConvo":
            return .jsonValue(["convo": convo(try messageThread(request, by: caller), request, caller)])
        case "chat.bsky.convo.getConvoForMembers":
            let members = request.all("members").compactMap(person).map(\.number)
            let wanted = Set(members + [caller.person.number])
            guard
                let messageThread = community.messageThreads(of: caller.person.number).first(where: {
                    Set($0.members) == wanted
                })
            else {
                throw Self.apiError("InvalidRequest", "recipient has disabled incoming messages")
            }
            return .jsonValue(["convo": convo(messageThread, request, caller)])
        case "chat.bsky.convo.getMessages": return try messages(request, by: caller)
        case "chat.bsky.convo.sendMessage": return try send(request, by: caller)
        case "chat.bsky.convo.updateRead":
            let messageThread = try messageThread(request, by: caller)
            community.markRead(
                messageThread.id,
                by: caller.person.number,
                upTo: request["messageId"].flatMap(BlueskyNames.id)
            )
            return .jsonValue(["convo": convo(try self.messageThread(request, by: caller), request, caller)])
        case "chat.bsky.convo.getLog": return log(request, by: caller)
        default: return nil
        }
    }

    private func messageThread(_ request: NetworkRequest, by caller: Caller) throws -> MessageThread {
        guard let id = request["convoId"].flatMap(BlueskyNames.id),
            let messageThread = community.messageThread(id, of: caller.person.number)
        else { throw Self.apiError("InvalidConvo", "Convo not found") }
        return messageThread
    }

    private func convo(_ messageThread: MessageThread, _ request: NetworkRequest, _ caller: Caller) -> JSONValue {
        let view = view(request, caller)
        let shown: JSONValue = [
            "id": .string(BlueskyNames.tid(messageThread.id)),
            "rev": .string(BlueskyNames.tid(messageThread.messages.last?.id ?? 0)),
            "members": .list(messageThread.members.map { view.profile($0) }), "muted": false, "status": "accepted",
            "unreadCount": .int(messageThread.unread(by: caller.person.number)),
            "kind": ["$type": "chat.bsky.convo.defs#directConvo"],
        ]
        guard let last = messageThread.messages.last else { return shown }
        return shown.with(["lastMessage": message(last, isInUnion: true)])
    }

    private func message(_ message: Message, isInUnion: Bool) -> JSONValue {
        let shown: JSONValue = [
            "id": .string(BlueskyNames.tid(message.id)), "rev": .string(BlueskyNames.tid(message.id)),
            "text": .string(message.text), "sentAt": .string(Timestamp.string(from: message.createdAt)),
            "sender": ["did": .string(BlueskyNames.did(community.person(message.sender) ?? .anonymous))],
        ]
        return isInUnion ? shown.with(["$type": "chat.bsky.convo.defs#messageView"]) : shown
    }

    private func list(_ request: NetworkRequest, by caller: Caller) -> WebResponse {
        let below = request["cursor"].flatMap(BlueskyNames.id)
        let all = community.messageThreads(of: caller.person.number).filter { messageThread in
            below.map { (messageThread.messages.last?.id ?? 0) < $0 } ?? true
                && (request["readState"] != "unread" || messageThread.unread(by: caller.person.number) > 0)
        }
        let limit = request.limit(standard: 50, most: 100)
        let found = request.returnsEmptyPage ? [] : Array(all.prefix(limit))
        let page: JSONValue = ["convos": .list(found.map { convo($0, request, caller) })]
        let edge = request.returnsEmptyPage ? all.first?.messages.last.map { $0.id + 1 } : found.last?.messages.last?.id
        guard let edge, request.returnsEmptyPage || all.count > limit else { return .jsonValue(page) }
        return .jsonValue(page.with(["cursor": .string(BlueskyNames.tid(edge))]))
    }

    private func messages(_ request: NetworkRequest, by caller: Caller) throws -> WebResponse {
        let messageThread = try messageThread(request, by: caller)
        let below = request["cursor"].flatMap(BlueskyNames.id)
        let all = messageThread.messages.reversed().filter { message in below.map { message.id < $0 } ?? true }
        let limit = request.limit(standard: 50, most: 100)
        let found = request.returnsEmptyPage ? [] : Array(all.prefix(limit))
        let shown = found.map { message($0, isInUnion: true) }
        let page: JSONValue = ["messages": .array(shown), "relatedProfiles": []]
        let edge = request.returnsEmptyPage ? all.first.map { $0.id + 1 } : found.last?.id
        guard let edge, request.returnsEmptyPage || all.count > limit else { return .jsonValue(page) }
        return .jsonValue(page.with(["cursor": .string(BlueskyNames.tid(edge))]))
    }

    private func send(_ request: NetworkRequest, by caller: Caller) throws -> WebResponse {
        let messageThread = try messageThread(request, by: caller)
        guard let text = request.json?["message"]?["text"]?.text, !text.isEmpty else {
            throw Self.apiError("InvalidRequest", "Error: Input/message must have the property \"text\"")
        }
        guard text.count <= 1_000 else {
            throw Self.apiError("InvalidRequest", "Input/message/text must not be longer than 1000 graphemes")
        }
        guard let (_, sent) = community.sendMessage(text, by: caller.person.number, in: messageThread.id) else {
            throw Self.apiError("InvalidConvo", "Convo not found")
        }
        return .jsonValue(message(sent, isInUnion: false))
    }

    /// Returns all messages after a cursor, in order.
    ///
    /// Clients poll this method.
    private func log(_ request: NetworkRequest, by caller: Caller) -> WebResponse {
        let after = request["cursor"].flatMap(BlueskyNames.id)
        let messageThreads = community.messageThreads(of: caller.person.number)
        let all = messageThreads.flatMap { messageThread in messageThread.messages.map { (messageThread, $0) } }.sorted
        { $0.1.id < $1.1.id }
        let found = after.map { bound in all.filter { $0.1.id > bound }.prefix(100) } ?? []
        let logs = found.map { messageThread, sent -> JSONValue in
            [
                "$type": "chat.bsky.convo.defs#logCreateMessage", "rev": .string(BlueskyNames.tid(sent.id)),
                "convoId": .string(BlueskyNames.tid(messageThread.id)), "message": message(sent, isInUnion: true),
            ]
        }
        let edge = found.last?.1.id ?? after ?? all.last?.1.id
        return .jsonValue(["logs": .array(logs), "cursor": .text(edge.map(BlueskyNames.tid))])
    }
}
