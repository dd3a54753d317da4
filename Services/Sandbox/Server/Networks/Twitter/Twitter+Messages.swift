import Foundation
import NIOHTTP1
import Wire

/// Direct messages of version 2: events, of all talks or of one.
extension Twitter {
    private func talk(_ path: [String], _ caller: Caller) throws -> Talk? {
        let talks = community.talks(of: caller.person.number)
        if path.count > 2, path[1] == "with" {
            guard let other = Int64(path[2]).flatMap({ community.person(id: $0) }) else { throw notFound(path[2]) }
            return talks.first { Set($0.members) == [other.number, caller.person.number] }
        }
        guard path.count > 1 else { return nil }
        guard let talk = talks.first(where: { TwitterView.conversation($0, community) == path[1] }) else {
            throw notFound(path[1])
        }
        return talk
    }

    func newMessages(
        _ request: NetworkRequest,
        _ path: [String],
        _ view: TwitterView,
        _ caller: Caller
    ) throws -> WebAnswer {
        try need("dm.read", caller)
        let below = try pagePlace(request)
        let limit = try pageLimit(request, standard: 100)
        let one = path[0] == "dm_events" ? nil : try talk(path, caller)
        let found = all(caller.person).filter { talk, message in
            (path[0] == "dm_events" || talk.id == one?.id) && (below.map { message.id < $0 } ?? true)
        }
        let shown = request.comesEmpty ? [] : Array(found.prefix(limit))
        let wanted = Set(request.all("dm_event.fields").flatMap { $0.split(separator: ",").map(String.init) })
        let events = shown.map { talk, message -> JSONValue in
            guard case .object(let fields) = view.newEvent(message, in: talk) else { return .null }
            return .object(fields.filter { ["id", "event_type", "text"].contains($0.key) || wanted.contains($0.key) })
        }
        var answer: JSONValue = events.isEmpty ? [:] : ["data": .array(events)]
        if request["expansions"]?.contains("sender_id") == true, !shown.isEmpty {
            let senders = Set(shown.map(\.1.sender)).sorted().compactMap { community.person($0) }
            answer = answer.with(["includes": ["users": .list(senders.map(view.newUser))]])
        }
        let next = request.comesEmpty ? found.first.map { $0.1.id + 1 } : found.count > limit ? shown.last?.1.id : nil
        let meta: JSONValue = ["result_count": .int(events.count)]
        return .written(
            answer.with(["meta": next.map { meta.with(["next_token": .string(Self.pageToken($0))]) } ?? meta])
        )
    }

    func sendNew(
        _ request: NetworkRequest,
        _ path: [String],
        _ view: TwitterView,
        _ caller: Caller
    ) throws -> WebAnswer? {
        try need("dm.write", caller)
        guard path.last == "messages", path.count > 2 else { return nil }
        guard let text = request.json?["text"]?.text, !text.isEmpty else { throw Self.problem(400, "Invalid Request") }
        let said: (Talk, Message)?
        if let talk = try talk(path, caller) {
            said = community.say(text, by: caller.person.number, in: talk.id)
        } else {
            let other = Int64(path[2]).flatMap { community.person(id: $0) }
            said = other.map { community.say(text, by: caller.person.number, to: [$0.number]) }
        }
        guard let (talk, message) = said else { return nil }
        let conversation = TwitterView.conversation(talk, community)
        let data: JSONValue = [
            "dm_conversation_id": .string(conversation), "dm_event_id": .string(String(message.id)),
        ]
        return .written(["data": data], .created)
    }
}
