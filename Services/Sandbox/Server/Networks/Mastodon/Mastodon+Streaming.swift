import Foundation
import Locks
import NIOHTTP1
import Wire

/// Streaming of events: as server-sent events, or over a WebSocket with several streams.
extension Mastodon {
    private struct StreamEvent {
        let streams: Set<String>
        let event: String
        let payload: String
    }

    func streaming(_ request: NetworkRequest, by caller: Caller) -> ResponseAction {
        let path = request.path.dropFirst(3)
        if request.headers.first(name: "upgrade")?.lowercased() == "websocket" { return socket(request, by: caller) }
        let name = path.joined(separator: ":")
        guard ["user", "user:notification", "direct", "public"].contains(name) else {
            return .response(Self.error("Not found", .notFound))
        }
        let view = MastodonView(community: community, base: request.base, viewer: caller.person)
        return .live(
            EventStream(
                headers: ["content-type": "text/event-stream", "cache-control": "private, no-store"],
                opening: ":)\n\n",
                heartbeat: ":thump\n"
            ) { send in
                let number = community.listen { event in
                    for found in streamEvents(event, view) where found.streams.contains(name) {
                        send("event: \(found.event)\ndata: \(found.payload)\n\n")
                    }
                }
                return { community.stopListening(number) }
            }
        )
    }

    private func socket(_ request: NetworkRequest, by caller: Caller) -> ResponseAction {
        let view = MastodonView(community: community, base: request.base, viewer: caller.person)
        let first = request["stream"]
        return .socket(
            LiveSocket { send in
                let streams = MastodonStreams(first)
                let number = community.listen { event in
                    for found in streamEvents(event, view) {
                        for stream in streams.all.intersection(found.streams).sorted() {
                            let frame: JSONValue = [
                                "stream": [.string(stream)], "event": .string(found.event),
                                "payload": .string(found.payload),
                            ]
                            send(frame.line)
                        }
                    }
                }
                return LiveSocketEnd(
                    receive: { text in streams.handleCommand(text).map { send($0) } },
                    close: { community.stopListening(number) }
                )
            }
        )
    }

    /// Returns the stream events that the viewer receives for a network event, each with its streams.
    private func streamEvents(_ event: CommunityEvent, _ view: MastodonView) -> [StreamEvent] {
        let viewer = view.community.person(view.viewer.number) ?? view.viewer
        let isOfHome = { (author: Int) in author == viewer.number || viewer.follows.contains(author) }
        switch event {
        case .posted(let post) where isOfHome(post.author):
            return [StreamEvent(streams: ["user", "public"], event: "update", payload: view.status(post).line)]
        case .posted(let post):
            return [StreamEvent(streams: ["public"], event: "update", payload: view.status(post).line)]
        case .edited(let post) where isOfHome(post.author):
            return [StreamEvent(streams: ["user"], event: "status.update", payload: view.status(post).line)]
        case .deleted(let post) where isOfHome(post.author):
            return [StreamEvent(streams: ["user", "public"], event: "delete", payload: String(post.id))]
        case .notified(let notice) where notice.recipient == viewer.number:
            let payload = view.notification(notice).line
            return [StreamEvent(streams: ["user", "user:notification"], event: "notification", payload: payload)]
        case .messageSent(let messageThread, _) where messageThread.members.contains(viewer.number):
            return [
                StreamEvent(streams: ["direct"], event: "conversation", payload: view.conversation(messageThread).line)
            ]
        default: return []
        }
    }
}

private final class MastodonStreams: Sendable {
    private static let supported: Set<String> = ["user", "user:notification", "direct", "public"]

    private let names: Lock<Set<String>>

    init(_ first: String?) {
        names = Lock(first.map { Self.supported.contains($0) ? [$0] : [] } ?? [])
    }

    var all: Set<String> { names.withLock { $0 } }

    /// Executes a client's command, or returns an error message when the command is invalid.
    func handleCommand(_ text: String) -> String? {
        // The guard reports text that is not JSON like any other invalid command.
        let command = try? JSONParser.parse(text.utf8)
        guard let type = command?["type"]?.text, let stream = command?["stream"]?.text, Self.supported.contains(stream)
        else {
            return #"{"error":"Unknown stream type","status":400}"#
        }
        names.withLock { names in
            if type == "subscribe" { names.insert(stream) } else { names.remove(stream) }
        }
        return nil
    }
}

extension JSONValue {
    var line: String {
        // Encoding a value of strings and numbers cannot fail.
        (try? compact()).map { String(decoding: $0, as: UTF8.self) } ?? "null"
    }
}
