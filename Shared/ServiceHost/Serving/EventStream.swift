import Foundation
import HTTPTypes
package import Hummingbird
import NIOCore
import ServiceLifecycle
import Wire

/// One event of a stream of events (`text/event-stream`, the HTML standard's "Server-sent events").
package struct StreamEvent: Hashable, Sendable {
    /// What a client that comes back says it had last; no line breaks.
    package let id: String?
    package let name: String?
    /// One line; without it a client takes note of the id and is told nothing.
    package let data: String?

    package init(id: String? = nil, name: String? = nil, data: String? = nil) {
        self.id = id
        self.name = name
        self.data = data
    }

    /// With a value as JSON, which has no line break.
    package init(id: String, name: String, value: some Encodable) throws {
        let data = try WireJSON.encoder().encode(value)
        self.init(id: id, name: name, data: String(decoding: data, as: UTF8.self))
    }

    /// As it goes over the wire, with the empty line behind it.
    package var text: String {
        var text = ""
        if let id { text += "id: \(id)\n" }
        if let name { text += "event: \(name)\n" }
        if let data { text += "data: \(data)\n" }
        return text + "\n"
    }
}

/// What somebody listens to.
package protocol StreamEventSource: Sendable {
    /// The next events, as soon as there are some, or a word that it is still there; nil: that was all.
    func next() async throws -> [StreamEvent]?

    /// Nobody listens any more: called at least once, whatever was the end. `next()` then answers nil.
    func end()
}

/// Answers with a stream of events that goes on until its source or its reader has enough, or the service is shut down.
///
/// Nothing is kept for a reader: the source is asked for more when he has taken what there was. Who takes nothing for as
/// long as `writeTimeout` is cut off; he goes on from his last event when he comes back.
package struct EventStreamResponse: Sendable {
    private let source: any StreamEventSource
    private let writeTimeout: Duration

    package init(_ source: any StreamEventSource, writeTimeout: Duration) {
        self.source = source
        self.writeTimeout = writeTimeout
    }

    /// What `HEAD` is answered with.
    package static var head: Response { Response(status: .ok, headers: headers) }

    private static let headers: HTTPFields = [
        .contentType: "text/event-stream", .cacheControl: "no-store, no-transform",
        // The connection has been read to its end by whoever waits for the reader to leave.
        .connection: "close",
        // For a proxy in front that would else keep events back (nginx).
        .accelBuffering: "no",
    ]

    /// - Precondition: the request came over a connection of a server, and its body was not read.
    package func response(to request: Request) -> Response {
        let body = ResponseBody { [source, writeTimeout] writer in
            try await request.body.consumeWithInboundCloseHandler { _ in
                try await withGracefulShutdownHandler {
                    try await Self.write(source, to: &writer, writeTimeout: writeTimeout)
                } onGracefulShutdown: {
                    source.end()
                }
            } onInboundClosed: {
                source.end()
            }
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: Self.headers, body: body)
    }

    private static func write(
        _ source: any StreamEventSource,
        to writer: inout any ResponseBodyWriter,
        writeTimeout: Duration
    ) async throws {
        defer { source.end() }
        // Browsers come back after this time, and not all at once where a service has stopped.
        try await write("retry: \(Int.random(in: 500...2_500))\n\n", to: &writer, within: writeTimeout)
        while let events = try await source.next() {
            try await write(events.map(\.text).joined(), to: &writer, within: writeTimeout)
        }
    }

    private static func write(
        _ text: String,
        to writer: inout any ResponseBodyWriter,
        within writeTimeout: Duration
    ) async throws {
        // The writer is lent to the one task that writes, and nobody else has it until that has ended.
        nonisolated(unsafe) var lent = writer
        defer { writer = lent }
        try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                try await lent.write(ByteBuffer(string: text))
                return true
            }
            group.addTask {
                try await Task.sleep(for: writeTimeout)
                return false
            }
            let isWritten = try await group.next() ?? false
            group.cancelAll()
            guard isWritten else { throw SlowReader() }
        }
    }

    /// Ends the answer without its end, so that the connection is closed.
    private struct SlowReader: Error {}
}

extension Request {
    /// The id of the last event that the client received: `Last-Event-ID`, or else the query parameter `lastEventId`.
    ///
    /// A client that opens a new `EventSource` cannot set the header field; a browser that reconnects by itself sets it,
    /// and repeats the older parameter.
    ///
    /// - Throws: `nul_character`, `too_many_combining_marks`.
    package func lastEventID() throws -> String? {
        if let id = headers[.lastEventID], !id.isEmpty { return id }
        return try query("lastEventId").flatMap { $0.isEmpty ? nil : $0 }
    }
}

extension HTTPField.Name {
    // A name of RFC 9110's token characters alone always parses.
    // swift-format-ignore: NeverForceUnwrap
    fileprivate static let lastEventID = HTTPField.Name("Last-Event-ID")!
    // A name of RFC 9110's token characters alone always parses.
    // swift-format-ignore: NeverForceUnwrap
    fileprivate static let accelBuffering = HTTPField.Name("X-Accel-Buffering")!
}
