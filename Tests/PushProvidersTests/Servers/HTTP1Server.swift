import NIOCore
import NIOHTTP1
import NIOSSL
import Synchronization

/// An HTTP/1.1 server that responds by a script.
final class HTTP1Server: Sendable {
    struct Request: Sendable {
        /// The number of the request on its server, from 1.
        var number: Int
        var path: String
        /// The header fields by lower-case name.
        var fields: [String: String]
        var body: [UInt8]

        var text: String { String(decoding: body, as: UTF8.self) }
    }

    struct Response: Sendable {
        var status: Int
        var fields: [String: String] = [:]
        var body = ""
    }

    /// Returns the response to a request, or nil to send none.
    typealias Script = @Sendable (Request) -> Response?

    private struct State {
        var requests: [Request] = []
        var connections = 0
    }

    private let state = Mutex(State())
    private let script: Script

    private init(_ script: @escaping Script) {
        self.script = script
    }

    var requests: [Request] { state.withLock { $0.requests } }
    var connections: Int { state.withLock { $0.connections } }

    /// Serves on a free port while `body` runs.
    static func run<Value>(
        isSecure: Bool = false,
        _ script: @escaping Script,
        _ body: (HTTP1Server, _ port: Int) async throws -> Value
    ) async throws -> Value {
        let server = HTTP1Server(script)
        let context = isSecure ? try TestAuthority.serverContext(protocols: ["http/1.1"]) : nil
        return try await TestListener.run {
            try server.install(on: $0, context)
        } _: {
            try await body(server, $0)
        }
    }

    private func install(on channel: any Channel, _ context: NIOSSLContext?) throws {
        state.withLock { $0.connections += 1 }
        let pipeline = channel.pipeline.syncOperations
        if let context { try pipeline.addHandler(NIOSSLServerHandler(context: context)) }
        try pipeline.configureHTTPServerPipeline(withPipeliningAssistance: false)
        try pipeline.addHandler(HTTP1ServerHandler(self))
    }

    fileprivate func receive(_ head: HTTPRequestHead, _ body: [UInt8]) -> Response? {
        let request = state.withLock { state in
            let number = state.requests.count + 1
            let fields = Dictionary(head.headers.map { ($0.name.lowercased(), $0.value) }) { "\($0), \($1)" }
            let request = Request(number: number, path: head.uri, fields: fields, body: body)
            state.requests.append(request)
            return request
        }
        return script(request)
    }
}

private final class HTTP1ServerHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let server: HTTP1Server
    private var head: HTTPRequestHead?
    private var body: [UInt8] = []

    init(_ server: HTTP1Server) {
        self.server = server
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch Self.unwrapInboundIn(data) {
        case .head(let head): (self.head, body) = (head, [])
        case .body(let bytes): body += bytes.readableBytesView
        case .end:
            guard let head, let response = server.receive(head, body) else { return }
            var responseHead = HTTPResponseHead(version: .http1_1, status: .init(statusCode: response.status))
            responseHead.headers = HTTPHeaders(response.fields.map { ($0.key, $0.value) })
            responseHead.headers.add(name: "content-length", value: "\(response.body.utf8.count)")
            context.write(Self.wrapOutboundOut(.head(responseHead)), promise: nil)
            context.write(Self.wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: response.body)))), promise: nil)
            context.writeAndFlush(Self.wrapOutboundOut(.end(nil)), promise: nil)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
