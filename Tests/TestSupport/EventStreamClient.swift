import AsyncHTTPClient
import NIOCore
import NIOHTTP1
package import Wire

/// A client of `text/event-stream`, as the HTML standard has them read it; used by one task.
package final class EventStreamClient {
    /// Something that was told, under the id that it leaves the client at.
    package struct Event: Hashable, Sendable {
        package var id: String?
        package var name: String
        package var data: String

        /// The data's JSON; null where it is none.
        package var json: JSONValue { (try? WireJSON.decode(JSONValue.self, from: Array(data.utf8))) ?? .null }
    }

    package enum Piece: Sendable {
        case event(Event)
        /// An id that came without an event.
        case place(String)
    }

    package let status: Int
    package let contentType: String?
    private var pieces: AsyncStream<Piece>.Iterator
    /// What a client that comes back says it had last.
    package private(set) var lastID: String?

    private init(_ response: HTTPClientResponse, _ pieces: AsyncStream<Piece>) {
        status = Int(response.status.code)
        contentType = response.headers.first(name: "content-type")
        self.pieces = pieces.makeAsyncIterator()
    }

    /// Opens a stream for as long as the body takes, and for `limit` at most.
    package static func with<Value>(
        port: Int,
        _ path: String,
        token: String?,
        after lastID: String? = nil,
        limit: Duration = .seconds(60),
        _ body: (EventStreamClient) async throws -> Value
    ) async throws -> Value {
        var request = HTTPClientRequest(url: "http://127.0.0.1:\(port)\(path)")
        if let token { request.headers.add(name: "authorization", value: "Bearer \(token)") }
        request.headers.add(name: "accept", value: "text/event-stream")
        if let lastID { request.headers.add(name: "last-event-id", value: lastID) }
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(30))
        let (pieces, told) = AsyncStream<Piece>.makeStream()
        let reading = Task {
            defer { told.finish() }
            var parser = Parser()
            // Silence: however it ends, the stream is at its end.
            do { for try await bytes in response.body { parser.take(bytes).forEach { told.yield($0) } } } catch {}
        }
        let watch = Task {
            try await Task.sleep(for: limit)
            reading.cancel()
        }
        defer {
            watch.cancel()
            reading.cancel()
        }
        let client = EventStreamClient(response, pieces)
        client.lastID = lastID
        return try await body(client)
    }

    /// The next event; nil at the end of the stream.
    package func event() async -> Event? {
        while let piece = await next() { if case .event(let event) = piece { return event } }
        return nil
    }

    /// The next event or id.
    package func next() async -> Piece? {
        let piece = await pieces.next()
        switch piece {
        case .event(let event): lastID = event.id ?? lastID
        case .place(let id): lastID = id
        case nil: break
        }
        return piece
    }

    /// Reads lines (the HTML standard, "Interpreting an event stream").
    private struct Parser {
        private var line: [UInt8] = []
        private var id: String?
        private var hasID = false
        private var name = ""
        private var data: [String] = []

        mutating func take(_ bytes: ByteBuffer) -> [Piece] {
            var pieces: [Piece] = []
            for byte in bytes.readableBytesView {
                guard byte == 0x0A else {
                    line.append(byte)
                    continue
                }
                if let piece = end(String(decoding: line, as: UTF8.self)) { pieces.append(piece) }
                line = []
            }
            return pieces
        }

        private mutating func end(_ line: String) -> Piece? {
            guard !line.isEmpty else {
                defer { (hasID, name, data) = (false, "", []) }
                guard data.isEmpty else {
                    return .event(
                        Event(id: id, name: name.isEmpty ? "message" : name, data: data.joined(separator: "\n"))
                    )
                }
                return hasID ? id.map { .place($0) } : nil
            }
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            var value = parts.count > 1 ? parts[1] : ""
            if value.first == " " { value = value.dropFirst() }
            switch parts[0] {
            case "id": (id, hasID) = (String(value), true)
            case "event": name = String(value)
            case "data": data.append(String(value))
            default: break
            }
            return nil
        }
    }
}
