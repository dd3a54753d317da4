import AsyncHTTPClient
import NIOCore
import NIOHTTP1
package import Wire

/// A client of `text/event-stream` (HTML standard), for use by one task.
package final class EventStreamClient {
    /// An event, with the last event id after it.
    package struct Event: Hashable, Sendable {
        package var id: String?
        package var name: String
        package var data: String

        /// The data as JSON; null when it is not JSON.
        package var json: JSONValue { (try? WireJSON.decode(JSONValue.self, from: Array(data.utf8))) ?? .null }
    }

    package enum Piece: Sendable {
        case event(Event)
        /// An id without an event.
        case place(String)
    }

    package let status: Int
    package let contentType: String?
    private var pieces: AsyncStream<Piece>.Iterator
    /// The last event id, which a reconnecting client sends.
    package private(set) var lastID: String?

    private init(_ response: HTTPClientResponse, _ pieces: AsyncStream<Piece>) {
        status = Int(response.status.code)
        contentType = response.headers.first(name: "content-type")
        self.pieces = pieces.makeAsyncIterator()
    }

    /// Opens a stream until `body` returns, at most for `limit`.
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
        let (pieces, continuation) = AsyncStream<Piece>.makeStream()
        let reading = Task {
            defer { continuation.finish() }
            var parser = Parser()
            // Every error ends the stream.
            do {
                for try await bytes in response.body { parser.parse(bytes).forEach { continuation.yield($0) } }
            } catch {}
        }
        let timeout = Task {
            try await Task.sleep(for: limit)
            reading.cancel()
        }
        defer {
            timeout.cancel()
            reading.cancel()
        }
        let client = EventStreamClient(response, pieces)
        client.lastID = lastID
        return try await body(client)
    }

    package func event() async -> Event? {
        while let piece = await next() { if case .event(let event) = piece { return event } }
        return nil
    }

    package func next() async -> Piece? {
        let piece = await pieces.next()
        switch piece {
        case .event(let event): lastID = event.id ?? lastID
        case .place(let id): lastID = id
        case nil: break
        }
        return piece
    }

    /// The parser of lines (HTML standard, "Interpreting an event stream").
    private struct Parser {
        private var line: [UInt8] = []
        private var id: String?
        private var hasID = false
        private var name = ""
        private var data: [String] = []

        mutating func parse(_ bytes: ByteBuffer) -> [Piece] {
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
