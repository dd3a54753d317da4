import Foundation
import HTTPTypes
import NIOCore
import SocialAPI
import Wire

extension MastodonConnector: StreamingConnector {
    /// Opens the user's stream of server-sent events, which any HTTP proxy passes on.
    ///
    /// Nothing is read before the caller requests the next event, so data that arrives faster waits in the instance's
    /// socket.
    func events(as account: NetworkAccount) async throws -> PulledSequence<NetworkEvent> {
        // An instance may have a separate host for streams, which it names by a WebSocket URL.
        let streamingURL = account.details["streaming"].map { $0.hasPrefix("ws") ? "http\($0.dropFirst(2))" : $0 }
        let baseURL = streamingURL ?? account.instance ?? ""
        var streamRequest = request(.get("\(baseURL)/api/v1/streaming/user"), account)
        streamRequest.headers[.accept] = "text/event-stream"
        let stream = try await open(streamRequest)
        return PulledSequence { [pause] in
            var pieces = stream.body.makeAsyncIterator()
            var reader = EventStreamReader()
            var rateLimit = StreamRateLimit()
            var read: ArraySlice<EventStreamReader.Event> = []
            return {
                while true {
                    while let next = read.popFirst() {
                        if let event = Self.event(next, of: account) { return event }
                    }
                    guard let piece = try await pieces.next() else { return nil }
                    read = try reader.feed(piece)[...]
                    let wait = rateLimit.spend(bytes: piece.readableBytes, events: read.count, at: .now)
                    if wait > .zero { try await pause(wait) }
                }
            }
        }
    }

    private func open(_ request: NetworkRequest) async throws -> NetworkStream {
        let stream = try await calls.http.open(request)
        guard stream.status == 200 else {
            let mappedError = MappedError.by(status: stream.status, isWrite: false)
            throw NetworkError(mappedError.kind, "the instance did not open a stream", code: String(stream.status))
        }
        return stream
    }

    static func event(_ event: EventStreamReader.Event, of account: NetworkAccount) -> NetworkEvent? {
        let parser = MastodonItems(page: PageRequest())
        func makeEvent(_ list: NetworkEvent.List, _ change: NetworkEvent.Change) -> NetworkEvent? {
            account.id.map { NetworkEvent(account: $0, list: list, change: change) }
        }
        if event.name == "delete" { return makeEvent(.feed, .deleted(event.data)) }
        // An event that cannot be parsed is skipped; the next poll finds the change.
        guard let json = try? JSONParser.parse(event.data.utf8, repairing: true) else { return nil }
        switch event.name {
        case "update": return parser.post(json).flatMap { makeEvent(.feed, .created($0)) }
        case "status.update": return parser.post(json).flatMap { makeEvent(.feed, .updated($0)) }
        case "notification":
            return parser.notification(json).flatMap { makeEvent(.notifications, .created(NetworkItem($0))) }
        case "conversation":
            guard let status = json["last_status"], let id = status["id"]?.identifier else { return nil }
            return parser.message(status, in: id).flatMap { makeEvent(.messages, .created(NetworkItem($0))) }
        default: return nil
        }
    }
}
