import Foundation
import HTTPTypes
package import Hummingbird
import NIOCore
import ServiceLifecycle
import Wire

/// An event of an event stream (`text/event-stream`; the HTML standard's "Server-sent events").
package struct StreamEvent: Hashable, Sendable {
    /// The id that a client sends as `Last-Event-ID` when it reconnects; no line breaks.
    package let id: String?
    package let name: String?
    /// The data in one line; without data the client stores the id and fires no event.
    package let data: String?

    package init(id: String? = nil, name: String? = nil, data: String? = nil) {
        self.id = id
        self.name = name
        self.data = data
    }

    /// Creates an event with a value as JSON, which contains no line breaks.
    package init(id: String, name: String, value: some Encodable) throws {
        let data = try WireJSON.encoder().encode(value)
        self.init(id: id, name: name, data: String(decoding: data, as: UTF8.self))
    }

    /// The event in its wire format, including the final empty line.
    package var text: String {
        var text = ""
        if let id { text += "id: \(id)\n" }
        if let name { text += "event: \(name)\n" }
        if let data { text += "data: \(data)\n" }
        return text + "\n"
    }
}

/// The source of an event stream.
package protocol StreamEventSource: Sendable {
    /// Returns the next events as soon as there are some, or an event without data as a heartbeat; nil ends the stream.
    func next() async throws -> [StreamEvent]?

    /// Ends the source because the stream has ended for any reason; called at least once. After that, `next()` returns
    /// nil.
    func end()
}

/// A response with a stream of events, which ends when its source ends, the client disconnects, or the service shuts
/// down.
///
/// Nothing is buffered: the source is polled for more when the client has accepted the previous events. A client that
/// accepts nothing for `writeTimeout` is disconnected; it resumes after its last event when it reconnects.
package struct EventStreamResponse: Sendable {
    private let source: any StreamEventSource
    private let writeTimeout: Duration

    package init(_ source: any StreamEventSource, writeTimeout: Duration) {
        self.source = source
        self.writeTimeout = writeTimeout
    }

    /// The response to `HEAD`.
    package static var head: Response { Response(status: .ok, headers: headers) }

    private static let headers: HTTPFields = [
        .contentType: "text/event-stream", .cacheControl: "no-store, no-transform",
        // The handler that waits for the disconnect has consumed the request, so the connection cannot be reused.
        .connection: "close",
        // Prevents a proxy (nginx) from buffering the events.
        .accelBuffering: "no",
    ]

    /// Returns the response.
    ///
    /// - Precondition: the request arrived over a server's connection, and its body was not read.
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
        // Browsers reconnect after this time; it is random so that they do not all reconnect at once after a shutdown.
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
        // Only the writing task uses the writer until the group has ended.
        nonisolated(unsafe) var taskWriter = writer
        defer { writer = taskWriter }
        try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                try await taskWriter.write(ByteBuffer(string: text))
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

    /// Aborts the response without a regular end, so that the connection is closed.
    private struct SlowReader: Error {}
}

extension Request {
    /// Returns the id of the last event that the client received: `Last-Event-ID`, or else the query parameter
    /// `lastEventId`.
    ///
    /// A client that opens a new `EventSource` cannot set the header field. A browser that reconnects automatically
    /// sets it and also repeats the older parameter.
    ///
    /// - Returns: the id, or nil.
    /// - Throws: `nul_character` or `too_many_combining_marks`.
    package func lastEventID() throws -> String? {
        if let id = headers[.lastEventID], !id.isEmpty { return id }
        return try query("lastEventId").flatMap { $0.isEmpty ? nil : $0 }
    }
}

extension HTTPField.Name {
    // A name of RFC 9110's token characters always parses.
    // swift-format-ignore: NeverForceUnwrap
    fileprivate static let lastEventID = HTTPField.Name("Last-Event-ID")!
    // A name of RFC 9110's token characters always parses.
    // swift-format-ignore: NeverForceUnwrap
    fileprivate static let accelBuffering = HTTPField.Name("X-Accel-Buffering")!
}
