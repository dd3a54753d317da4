import Foundation
import Glibc
import Logging
import NIOCore
import NIOEmbedded
import NIOHTTP1
import Testing

@testable import ServiceHost

/// Responses that bypass the routes, and their order with the responses of the routes.
@Suite("Shortcuts") struct ShortcutTests {
    @Test("A shortcut responds without the routes, and all other requests reach the routes")
    func shortcutAndPassThrough() throws {
        try withConnection { connection in
            try connection.request("/known")
            #expect(try connection.responses() == ["200", "all of it", "end"])
            try connection.request("/other")
            #expect(connection.routes.seen == ["/other", "end"])
            #expect(try connection.responses().isEmpty)
            let others: [(HTTPMethod, HTTPHeaders)] = [
                (.POST, [:]), (.GET, ["Content-Length": "3"]), (.GET, ["Connection": "close"]),
            ]
            for (method, headers) in others {
                try connection.request("/known", method, headers)
                #expect(try connection.responses().isEmpty, "\(method) \(headers)")
            }
            #expect(connection.opened == 1)
        }
    }

    @Test("While the routes owe a response, they receive all requests")
    func pendingResponse() throws {
        try withConnection { connection in
            try connection.request("/slow")
            try connection.request("/known")
            #expect(connection.routes.seen == ["/slow", "end", "/known", "end"])
            #expect(try connection.responses().isEmpty)
            #expect(connection.opened == 0)
            for _ in 0..<2 {
                connection.respond(.accepted)
            }
            #expect(try connection.responses() == ["202", "end", "202", "end"])
            try connection.request("/known")
            #expect(try connection.responses() == ["200", "all of it", "end"])
        }
    }

    @Test("While a file is sent, requests, events and reads wait")
    func fileInProgress() throws {
        try withConnection(size: Int(ShortcutHandler.slice) + 3) { connection in
            connection.link.isHolding = true
            try connection.request("/known")
            try connection.request("/other")
            connection.channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
            connection.channel.pipeline.read()
            #expect(connection.routes.seen.isEmpty)
            #expect(connection.routes.events == 0)
            #expect(connection.link.reads == 0)

            connection.link.completeWrites()
            #expect(connection.routes.seen.isEmpty)
            connection.link.completeWrites()
            let responses = try connection.responses()
            #expect(responses.first == "200")
            #expect(responses.last == "end")
            #expect(responses.count == 4)
            #expect(responses.map(\.utf8.count).reduce(-6, +) == Int(ShortcutHandler.slice) + 3)
            #expect(connection.routes.seen == ["/other", "end"])
            #expect(connection.routes.events == 1)
            // The routes are told that the read was complete.
            #expect(connection.routes.isComplete)
            #expect(connection.link.reads == 1)
        }
    }

    @Test("A disconnect closes the file")
    func disconnectClosesFile() throws {
        try withConnection { connection in
            connection.link.isHolding = true
            try connection.request("/known")
            connection.link.fail()
            #expect(!connection.channel.isActive)
            #expect(!connection.isLastFileOpen)
        }
    }

    /// A connection with the handler between a link that can hold writes and routes that record requests.
    private func withConnection(size: Int = 9, _ body: (Connection) throws -> Void) throws {
        let path = NSTemporaryDirectory() + "shortcut-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let content = size == 9 ? Data("all of it".utf8) : Data(repeating: UInt8(ascii: "x"), count: size)
        try content.write(to: URL(filePath: path))
        let connection = try Connection(path: path, size: size)
        try body(connection)
        _ = try? connection.channel.finish(acceptAlreadyClosed: true)
    }
}

private final class Connection {
    let channel = EmbeddedChannel()
    let link = Link()
    let routes = Routes()
    private let files: Files

    var opened: Int { files.opened.count }
    /// Checked by path, because parallel tests may have been given the number of the closed descriptor.
    var isLastFileOpen: Bool {
        guard let last = files.opened.last else { return false }
        // An error means that the descriptor is closed.
        let held = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(last)")
        return held == files.path
    }

    init(path: String, size: Int) throws {
        files = Files(path: path, size: Int64(size))
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let recorder = RequestRecorder(service: "test", drain: Drain(longest: .zero, logger: logger))
        try channel.pipeline.syncOperations.addHandlers(link, ShortcutHandler(files, recorder, logger), routes)
        try channel.connect(to: SocketAddress(unixDomainSocketPath: "/x")).wait()
    }

    func request(_ path: String, _ method: HTTPMethod = .GET, _ headers: HTTPHeaders = [:]) throws {
        let head = HTTPRequestHead(version: .http1_1, method: method, uri: path, headers: headers)
        try channel.writeInbound(HTTPServerRequestPart.head(head))
        try channel.writeInbound(HTTPServerRequestPart.end(nil))
    }

    /// Responds as the routes do.
    func respond(_ status: HTTPResponseStatus) {
        let head = HTTPResponseHead(version: .http1_1, status: status)
        channel.pipeline.write(HTTPServerResponsePart.head(head), promise: nil)
        channel.pipeline.writeAndFlush(HTTPServerResponsePart.end(nil), promise: nil)
    }

    /// Statuses, bodies and ends, in order.
    func responses() throws -> [String] {
        var found: [String] = []
        while let part = try channel.readOutbound(as: HTTPServerResponsePart.self) {
            switch part {
            case .head(let head): found.append("\(head.status.code)")
            case .body(.byteBuffer(let bytes)): found.append(String(buffer: bytes))
            case .body(.fileRegion): found.append("a file")
            case .end: found.append("end")
            }
        }
        return found
    }
}

private final class Files: Shortcut, @unchecked Sendable {
    // Unchecked: used by one test on one thread.

    let route = "/known"
    let path: String
    let size: Int64
    var opened: [CInt] = []

    init(path: String, size: Int64) {
        self.path = path
        self.size = size
    }

    func answer(to request: HTTPRequestHead) -> ShortcutResponse? {
        guard request.uri == "/known" else { return nil }
        opened.append(open(path, O_RDONLY))
        return ShortcutResponse(.ok, ["Content-Length": "\(size)"], body: (opened[opened.count - 1], 0..<size))
    }
}

/// Reads files like a socket, because a file that is closed cannot be read later; can hold writes.
private final class Link: ChannelOutboundHandler {
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    var isHolding = false
    private(set) var reads = 0
    private var held: [EventLoopPromise<Void>] = []

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        var part = unwrapOutboundIn(data)
        if case .body(.fileRegion(let region)) = part { part = .body(.byteBuffer(Self.read(region))) }
        if isHolding, let promise {
            held.append(promise)
            context.write(wrapOutboundOut(part), promise: nil)
        } else {
            context.write(wrapOutboundOut(part), promise: promise)
        }
    }

    func read(context: ChannelHandlerContext) {
        reads += 1
        context.read()
    }

    /// Completes the writes so far.
    func completeWrites() {
        let now = held
        held = []
        for promise in now { promise.succeed() }
    }

    func fail() {
        for promise in held { promise.fail(ChannelError.ioOnClosedChannel) }
    }

    private static func read(_ region: FileRegion) -> ByteBuffer {
        let bytes = try? region.fileHandle.withUnsafeFileDescriptor { descriptor in
            var bytes = [UInt8](repeating: 0, count: region.readableBytes)
            return pread(descriptor, &bytes, bytes.count, off_t(region.readerIndex)) == bytes.count ? bytes : []
        }
        return ByteBuffer(bytes: bytes ?? [])
    }
}

private final class Routes: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart

    private(set) var seen: [String] = []
    private(set) var events = 0
    /// Whether a read was complete since the last part arrived.
    private(set) var isComplete = true

    func channelReadComplete(context: ChannelHandlerContext) { isComplete = true }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        isComplete = false
        switch unwrapInboundIn(data) {
        case .head(let head): seen.append(head.uri)
        case .body: seen.append("body")
        case .end: seen.append("end")
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) { events += 1 }
}
