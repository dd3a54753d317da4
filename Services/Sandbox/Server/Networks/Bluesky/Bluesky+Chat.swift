import Foundation
import NIOHTTP1
import Wire

/// Direct messages, which are another service behind the same server.
extension Bluesky {
    func chat(_ method: String, _ request: NetworkRequest, by caller: Caller) throws -> WebAnswer? {
        switch method {
        case "chat.bsky.convo.listConvos": return list(request, by: caller)
        case "chat.bsky.convo.getConvo":
            return .written(["convo": convo(try talk(request, by: caller), request, caller)])
        case "chat.bsky.convo.getConvoForMembers":
            let members = request.all("members").compactMap(person).map(\.number)
            let wanted = Set(members + [caller.person.number])
            guard let talk = community.talks(of: caller.person.number).first(where: { Set($0.members) == wanted })
            else {
                throw Self.flaw("InvalidRequest", "recipient has disabled incoming messages")
            }
            return .written(["convo": convo(talk, request, caller)])
        case "chat.bsky.convo.getMessages": return try messages(request, by: caller)
        case "chat.bsky.convo.sendMessage": return try send(request, by: caller)
        case "chat.bsky.convo.updateRead":
            let talk = try talk(request, by: caller)
            community.markRead(talk.id, by: caller.person.number, upTo: request["messageId"].flatMap(BlueskyNames.id))
            return .written(["convo": convo(try self.talk(request, by: caller), request, caller)])
        case "chat.bsky.convo.getLog": return log(request, by: caller)
        default: return nil
        }
    }

    private func talk(_ request: NetworkRequest, by caller: Caller) throws -> Talk {
        guard let id = request["convoId"].flatMap(BlueskyNames.id),
            let talk = community.talk(id, of: caller.person.number)
        else { throw Self.flaw("InvalidConvo", "Convo not found") }
        return talk
    }

    private func convo(_ talk: Talk, _ request: NetworkRequest, _ caller: Caller) -> JSONValue {
        let view = view(request, caller)
        let shown: JSONValue = [
            "id": .string(BlueskyNames.tid(talk.id)), "rev": .string(BlueskyNames.tid(talk.messages.last?.id ?? 0)),
            "members": .list(talk.members.map { view.profile($0) }), "muted": false, "status": "accepted",
            "unreadCount": .int(talk.unread(by: caller.person.number)),
            "kind": ["$type": "chat.bsky.convo.defs#directConvo"],
        ]
        guard let last = talk.messages.last else { return shown }
        return shown.with(["lastMessage": message(last, isInUnion: true)])
    }

    private func message(_ message: Message, isInUnion: Bool) -> JSONValue {
        let shown: JSONValue = [
            "id": .string(BlueskyNames.tid(message.id)), "rev": .string(BlueskyNames.tid(message.id)),
            "text": .string(message.text), "sentAt": .string(Timestamp.string(from: message.createdAt)),
            "sender": ["did": .string(BlueskyNames.did(community.person(message.sender) ?? .nobody))],
        ]
        return isInUnion ? shown.with(["$type": "chat.bsky.convo.defs#messageView"]) : shown
    }

    private func list(_ request: NetworkRequest, by caller: Caller) -> WebAnswer {
        let below = request["cursor"].flatMap(BlueskyNames.id)
        let all = community.talks(of: caller.person.number).filter { talk in
            below.map { (talk.messages.last?.id ?? 0) < $0 } ?? true
                && (request["readState"] != "unread" || talk.unread(by: caller.person.number) > 0)
        }
        let limit = request.limit(standard: 50, most: 100)
        let found = request.comesEmpty ? [] : Array(all.prefix(limit))
        let page: JSONValue = ["convos": .list(found.map { convo($0, request, caller) })]
        let edge = request.comesEmpty ? all.first?.messages.last.map { $0.id + 1 } : found.last?.messages.last?.id
        guard let edge, request.comesEmpty || all.count > limit else { return .written(page) }
        return .written(page.with(["cursor": .string(BlueskyNames.tid(edge))]))
    }

    private func messages(_ request: NetworkRequest, by caller: Caller) throws -> WebAnswer {
        let talk = try talk(request, by: caller)
        let below = request["cursor"].flatMap(BlueskyNames.id)
        let all = talk.messages.reversed().filter { message in below.map { message.id < $0 } ?? true }
        let limit = request.limit(standard: 50, most: 100)
        let found = request.comesEmpty ? [] : Array(all.prefix(limit))
        let shown = found.map { message($0, isInUnion: true) }
        let page: JSONValue = ["messages": .array(shown), "relatedProfiles": []]
        let edge = request.comesEmpty ? all.first.map { $0.id + 1 } : found.last?.id
        guard let edge, request.comesEmpty || all.count > limit else { return .written(page) }
        return .written(page.with(["cursor": .string(BlueskyNames.tid(edge))]))
    }

    private func send(_ request: NetworkRequest, by caller: Caller) throws -> WebAnswer {
        let talk = try talk(request, by: caller)
        guard let text = request.json?["message"]?["text"]?.text, !text.isEmpty else {
            throw Self.flaw("InvalidRequest", "Error: Input/message must have the property \"text\"")
        }
        guard text.count <= 1_000 else {
            throw Self.flaw("InvalidRequest", "Input/message/text must not be longer than 1000 graphemes")
        }
        guard let (_, said) = community.say(text, by: caller.person.number, in: talk.id) else {
            throw Self.flaw("InvalidConvo", "Convo not found")
        }
        return .written(message(said, isInUnion: false))
    }

    /// Everything that was said after a cursor, in order: what one polls.
    private func log(_ request: NetworkRequest, by caller: Caller) -> WebAnswer {
        let after = request["cursor"].flatMap(BlueskyNames.id)
        let talks = community.talks(of: caller.person.number)
        let all = talks.flatMap { talk in talk.messages.map { (talk, $0) } }.sorted { $0.1.id < $1.1.id }
        let found = after.map { bound in all.filter { $0.1.id > bound }.prefix(100) } ?? []
        let logs = found.map { talk, said -> JSONValue in
            [
                "$type": "chat.bsky.convo.defs#logCreateMessage", "rev": .string(BlueskyNames.tid(said.id)),
                "convoId": .string(BlueskyNames.tid(talk.id)), "message": message(said, isInUnion: true),
            ]
        }
        let edge = found.last?.1.id ?? after ?? all.last?.1.id
        return .written(["logs": .array(logs), "cursor": .text(edge.map(BlueskyNames.tid))])
    }
}
