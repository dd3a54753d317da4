import Foundation
import NIOHTTP1
import Wire

/// Direct messages of v2: the events of all conversations or of one.
extension Twitter {
    private func messageThread(_ path: [String], _ caller: Caller) throws -> MessageThread? {
        let messageThreads = community.messageThreads(of: caller.person.number)
        if path.count > 2, path[1] == "with" {
            guard let other = Int64(path[2]).flatMap({ community.person(id: $0) }) else { throw notFound(path[2]) }
            return messageThreads.first { Set($0.members) == [other.number, caller.person.number] }
        }
        guard path.count > 1 else { return nil }
        guard let messageThread = messageThreads.first(where: { TwitterView.conversation($0, community) == path[1] })
        else {
            throw notFound(path[1])
        }
        return messageThread
    }

    func messagesV2(
        _ request: NetworkRequest,
        _ path: [String],
        _ view: TwitterView,
        _ caller: Caller
    ) throws -> WebResponse {
        try requireScope("dm.read", caller)
        let below = try pageCursor(request)
        let limit = try pageLimit(request, standard: 100)
        let one = path[0] == "dm_events" ? nil : try messageThread(path, caller)
        let found = all(caller.person).filter { messageThread, message in
            (path[0] == "dm_events" || messageThread.id == one?.id) && (below.map { message.id < $0 } ?? true)
        }
        let shown = request.returnsEmptyPage ? [] : Array(found.prefix(limit))
        let wanted = Set(request.all("dm_event.fields").flatMap { $0.split(separator: ",").map(String.init) })
        let events = shown.map { messageThread, message -> JSONValue in
            guard case .object(let fields) = view.eventV2(message, in: messageThread) else { return .null }
            return .object(fields.filter { ["id", "event_type", "text"].contains($0.key) || wanted.contains($0.key) })
        }
        var response: JSONValue = events.isEmpty ? [:] : ["data": .array(events)]
        if request["expansions"]?.contains("sender_id") == true, !shown.isEmpty {
            let senders = Set(shown.map(\.1.sender)).sorted().compactMap { community.person($0) }
            response = response.with(["includes": ["users": .list(senders.map(view.userV2))]])
        }
        let next =
            request.returnsEmptyPage ? found.first.map { $0.1.id + 1 } : found.count > limit ? shown.last?.1.id : nil
        let meta: JSONValue = ["result_count": .int(events.count)]
        return .jsonValue(
            response.with(["meta": next.map { meta.with(["next_token": .string(Self.pageToken($0))]) } ?? meta])
        )
    }

    func sendV2(
        _ request: NetworkRequest,
        _ path: [String],
        _ view: TwitterView,
        _ caller: Caller
    ) throws -> WebResponse? {
        try requireScope("dm.write", caller)
        guard path.last == "messages", path.count > 2 else { return nil }
        guard let text = request.json?["text"]?.text, !text.isEmpty else { throw Self.problem(400, "Invalid Request") }
        let sent: (MessageThread, Message)?
        if let messageThread = try messageThread(path, caller) {
            sent = community.sendMessage(text, by: caller.person.number, in: messageThread.id)
        } else {
            let other = Int64(path[2]).flatMap { community.person(id: $0) }
            sent = other.map { community.sendMessage(text, by: caller.person.number, to: [$0.number]) }
        }
        guard let (messageThread, message) = sent else { return nil }
        let conversation = TwitterView.conversation(messageThread, community)
        let data: JSONValue = [
            "dm_conversation_id": .string(conversation), "dm_event_id": .string(String(message.id)),
        ]
        return .jsonValue(["data": data], .created)
    }
}
