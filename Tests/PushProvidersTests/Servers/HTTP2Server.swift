import NIOCore
import NIOHPACK
import NIOHTTP2
import NIOSSL
import Synchronization

/// An HTTP/2 server over TLS that sends the frames of a script.
final class HTTP2Server: Sendable {
    struct Request: Sendable {
        /// The number of the request on its server, from 1.
        var number: Int
        /// The number of the connection on its server, from 1.
        var connection: Int
        var stream: HTTP2StreamID
        /// The number of requests in flight on the connection, including this one.
        var open: Int
        var fields: [String: String]
        var body: [UInt8]

        var path: String { fields[":path"] ?? "" }
    }

    enum Action: Sendable {
        case answer(Int, [(String, String)] = [], body: String = "")
        case answerOf(HTTP2StreamID, Int)
        /// Responds when `answerHeld` is called.
        case hold
        case reset(HTTP2ErrorCode)
        /// Sends GOAWAY with the last stream that is processed.
        case goAway(last: HTTP2StreamID, debugData: String = "")
        case settings([HTTP2Setting])
        /// Stops reading from the connection.
        case stopReading
        case close
    }

    typealias Script = @Sendable (Request) -> [Action]
    typealias Setting = HTTP2Setting

    private struct State {
        var requests: [Request] = []
        var connections = 0
        var peak = 0
        var held: [@Sendable (_ status: Int) -> Void] = []
        var script: Script
    }

    private let state: Mutex<State>
    private let settings: [HTTP2Setting]

    private init(_ settings: [HTTP2Setting], _ script: @escaping Script) {
        self.settings = settings
        state = Mutex(State(script: script))
    }

    /// The requests received, in order.
    var requests: [Request] { state.withLock { $0.requests } }
    var connections: Int { state.withLock { $0.connections } }
    /// The highest number of requests in flight on one connection.
    var peak: Int { state.withLock { $0.peak } }

    /// The number of held requests, which are in `requests` a moment before they are held.
    var held: Int { state.withLock { $0.held.count } }

    /// Replaces the script.
    func setScript(_ script: @escaping Script) { state.withLock { $0.script = script } }

    /// Responds to all held requests.
    func answerHeld(_ status: Int) {
        let held = state.withLock { state in
            defer { state.held = [] }
            return state.held
        }
        for answer in held { answer(status) }
    }

    fileprivate func hold(_ answer: @escaping @Sendable (_ status: Int) -> Void) {
        state.withLock { $0.held.append(answer) }
    }

    /// Serves on a free port while `body` runs.
    static func run<Value>(
        settings: [Setting] = [.streams(1_000)],
        _ script: @escaping Script,
        _ body: (HTTP2Server, _ port: Int) async throws -> Value
    ) async throws -> Value {
        let server = HTTP2Server(settings, script)
        let context = try TestAuthority.serverContext(protocols: ["h2"])
        return try await TestListener.run {
            try server.install(on: $0, context)
        } _: {
            try await body(server, $0)
        }
    }

    private func install(on channel: any Channel, _ context: NIOSSLContext) throws {
        let number = state.withLock { state in
            state.connections += 1
            return state.connections
        }
        var connection = NIOHTTP2Handler.ConnectionConfiguration()
        connection.initialSettings = settings
        // Frames for the streams that a GOAWAY excluded are not an error.
        connection.maximumRecentlyResetStreams = 10_000
        connection.maximumConnectionGlitches = 10_000
        var stream = NIOHTTP2Handler.StreamConfiguration()
        stream.streamErrorRateLimit.maximumCount = 10_000
        try channel.pipeline.syncOperations.addHandlers(
            NIOSSLServerHandler(context: context),
            NIOHTTP2Handler(mode: .server, connectionConfiguration: connection, streamConfiguration: stream),
            HTTP2ServerHandler(server: self, connection: number)
        )
    }

    fileprivate func receive(_ request: Request) -> [Action] {
        let (script, request) = state.withLock { state in
            var request = request
            request.number = state.requests.count + 1
            state.requests.append(request)
            state.peak = max(state.peak, request.open)
            return (state.script, request)
        }
        return script(request)
    }
}

extension HTTP2Setting {
    static func streams(_ count: Int) -> HTTP2Setting { HTTP2Setting(parameter: .maxConcurrentStreams, value: count) }
}

private final class HTTP2ServerHandler: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame
    typealias OutboundOut = HTTP2Frame

    private let server: HTTP2Server
    private let connection: Int
    private var open: [HTTP2StreamID: ([String: String], [UInt8])] = [:]

    init(server: HTTP2Server, connection: Int) {
        self.server = server
        self.connection = connection
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = Self.unwrapInboundIn(data)
        switch frame.payload {
        case .headers(let head):
            let fields = Dictionary(head.headers.map { ($0.name, $0.value) }) { "\($0), \($1)" }
            open[frame.streamID] = (fields, [])
        case .data(let data):
            guard case .byteBuffer(let bytes) = data.data else { return }
            open[frame.streamID]?.1 += bytes.readableBytesView
            let update = HTTP2Frame(
                streamID: .rootStream,
                payload: .windowUpdate(windowSizeIncrement: max(1, bytes.readableBytes))
            )
            context.write(Self.wrapOutboundOut(update), promise: nil)
            if data.endStream { receive(frame.streamID, context) }
        case .rstStream: open[frame.streamID] = nil
        default: break
        }
    }

    private func receive(_ stream: HTTP2StreamID, _ context: ChannelHandlerContext) {
        guard let (fields, body) = open[stream] else { return }
        let request = HTTP2Server.Request(
            number: 0,
            connection: connection,
            stream: stream,
            open: open.count,
            fields: fields,
            body: body
        )
        for action in server.receive(request) { perform(action, stream, context) }
        context.flush()
    }

    private func perform(_ action: HTTP2Server.Action, _ stream: HTTP2StreamID, _ context: ChannelHandlerContext) {
        switch action {
        case .answer(let status, let fields, let body): answer(stream, status, fields, body, context)
        case .answerOf(let other, let status): answer(other, status, [], "", context)
        case .hold:
            let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
            server.hold { [eventLoop = context.eventLoop] status in
                eventLoop.execute {
                    let (handler, context) = bound.value
                    handler.answer(stream, status, [], "", context)
                    context.flush()
                }
            }
        case .reset(let code):
            open[stream] = nil
            write(.rstStream(code), on: stream, context)
        case .goAway(let last, let debugData):
            let bytes = ByteBuffer(string: debugData)
            write(.goAway(lastStreamID: last, errorCode: .noError, opaqueData: bytes), on: .rootStream, context)
        case .settings(let settings): write(.settings(.settings(settings)), on: .rootStream, context)
        case .stopReading: context.channel.setOption(.autoRead, value: false).whenComplete { _ in }
        case .close:
            context.flush()
            context.close(promise: nil)
        }
    }

    private func answer(
        _ stream: HTTP2StreamID,
        _ status: Int,
        _ fields: [(String, String)],
        _ body: String,
        _ context: ChannelHandlerContext
    ) {
        open[stream] = nil
        let head = HTTP2Frame.FramePayload.Headers(
            headers: .init([(":status", "\(status)")] + fields),
            endStream: body.isEmpty
        )
        write(.headers(head), on: stream, context)
        guard !body.isEmpty else { return }
        write(.data(.init(data: .byteBuffer(ByteBuffer(string: body)), endStream: true)), on: stream, context)
    }

    private func write(_ payload: HTTP2Frame.FramePayload, on stream: HTTP2StreamID, _ context: ChannelHandlerContext) {
        context.write(Self.wrapOutboundOut(HTTP2Frame(streamID: stream, payload: payload)), promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // The tests check what the client reports about a closed connection.
        context.close(promise: nil)
    }
}
