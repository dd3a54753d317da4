import Foundation
import HTTPTypes
import SocialAPI
import Wire

extension MastodonConnector: StreamingConnector {
    /// The user's stream as server-sent events, which go through anything that HTTP goes through.
    func events(as account: NetworkAccount) async throws -> AsyncThrowingStream<NetworkEvent, any Error> {
        // An instance may stream elsewhere, and says so as an address of WebSockets.
        let named = account.details["streaming"].map { $0.hasPrefix("ws") ? "http\($0.dropFirst(2))" : $0 }
        let place = named ?? account.instance ?? ""
        var asking = request(.get("\(place)/api/v1/streaming/user"), account)
        asking.headers[.accept] = "text/event-stream"
        let stream = try await open(asking)
        let (events, source) = AsyncThrowingStream<NetworkEvent, any Error>.makeStream(
            bufferingPolicy: .bufferingOldest(1_000)
        )
        let reading = Task {
            do {
                var reader = EventStreamReader()
                for try await bytes in stream.body {
                    for event in try reader.feed(bytes) {
                        guard let event = Self.event(event, of: account) else { continue }
                        // Who is so far behind has lost some: he begins anew, and reads what he missed.
                        if case .dropped = source.yield(event) { throw NetworkError(.transient, "events are lost") }
                    }
                }
                source.finish()
            } catch {
                source.finish(throwing: error)
            }
        }
        source.onTermination = { _ in reading.cancel() }
        return events
    }

    private func open(_ request: NetworkRequest) async throws -> NetworkStream {
        let stream = try await calls.http.open(request)
        guard stream.status == 200 else {
            let refusal = Refusal.by(status: stream.status, isWrite: false)
            throw NetworkError(refusal.kind, "the instance does not stream", code: String(stream.status))
        }
        return stream
    }

    static func event(_ event: EventStreamReader.Event, of account: NetworkAccount) -> NetworkEvent? {
        let shapes = MastodonItems(page: PageRequest())
        func told(_ list: NetworkEvent.List, _ change: NetworkEvent.Change) -> NetworkEvent? {
            account.id.map { NetworkEvent(account: $0, list: list, change: change) }
        }
        if event.name == "delete" { return told(.feed, .deleted(event.data)) }
        // What we cannot read is not for us; the next poll reads it again.
        guard let json = try? JSONText.parse(event.data.utf8, repairing: true) else { return nil }
        switch event.name {
        case "update": return shapes.post(json).flatMap { told(.feed, .created($0)) }
        case "status.update": return shapes.post(json).flatMap { told(.feed, .updated($0)) }
        case "notification":
            return shapes.notification(json).flatMap { told(.notifications, .created(NetworkItem($0))) }
        case "conversation":
            guard let status = json["last_status"], let id = status["id"]?.identifier else { return nil }
            return shapes.message(status, in: id).flatMap { told(.messages, .created(NetworkItem($0))) }
        default: return nil
        }
    }
}
