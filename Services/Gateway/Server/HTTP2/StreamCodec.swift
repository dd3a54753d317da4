import NIOCore
import NIOHPACK
import NIOHTTP1
import NIOHTTP2
import Wire

/// Converts one HTTP/2 stream to the HTTP/1 parts that `ProxyHandler` uses.
///
/// NIO's own codec is not sufficient for a gateway. It prefers any `Host` to `:authority`, sends a body of unknown
/// length without framing after some methods, and keeps cookie fields separate. The HTTP/2 handler has already
/// validated names, values and lengths.
final class StreamCodec: ChannelDuplexHandler {
    typealias InboundIn = HTTP2Frame.FramePayload
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTP2Frame.FramePayload

    /// The outbound event that tells the client to stop sending its request.
    enum StopSending { case stopSending }

    private let fieldLimit: Int
    private var hasHead = false
    /// The last frame, held until it is clear whether it ends the response; this saves a separate frame for the end.
    private var held: (payload: HTTP2Frame.FramePayload, promise: EventLoopPromise<Void>?)?

    init(fieldLimit: Int) {
        self.fieldLimit = fieldLimit
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch Self.unwrapInboundIn(data) {
        case .headers(let block) where hasHead:
            let trailers = block.headers.lazy.filter { !$0.name.hasPrefix(":") }.map { ($0.name, $0.value) }
            fire(.end(HTTPHeaders(Array(trailers))), in: context)
        case .headers(let block):
            hasHead = true
            do {
                let head = try HTTPRequestHead(block.headers, hasBody: !block.endStream, fieldLimit: fieldLimit)
                fire(.head(head), in: context)
                if block.endStream { fire(.end(nil), in: context) }
            } catch {
                context.fireErrorCaught(error)
            }
        case .data(let block):
            if case .byteBuffer(let bytes) = block.data, bytes.readableBytes > 0 {
                fire(.body(bytes), in: context)
            }
            if block.endStream { fire(.end(nil), in: context) }
        default: break
        }
    }

    private func fire(_ part: HTTPServerRequestPart, in context: ChannelHandlerContext) {
        context.fireChannelRead(Self.wrapInboundOut(part))
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch Self.unwrapOutboundIn(data) {
        case .head(let head):
            let block = HTTP2Frame.FramePayload.headers(.init(headers: HPACKHeaders(head), endStream: false))
            if head.status.code < 200 {
                context.write(Self.wrapOutboundOut(block), promise: promise)
            } else {
                held = (block, promise)
            }
        case .body(let bytes):
            release(in: context)
            held = (.data(.init(data: bytes, endStream: false)), promise)
        case .end(let trailers?) where !trailers.isEmpty:
            release(in: context)
            let fields = HPACKHeaders(httpHeaders: trailers, normalizeHTTPHeaders: true)
            context.write(Self.wrapOutboundOut(.headers(.init(headers: fields, endStream: true))), promise: promise)
        case .end: end(in: context, promise: promise)
        }
    }

    private func end(in context: ChannelHandlerContext, promise: EventLoopPromise<Void>?) {
        let last: HTTP2Frame.FramePayload
        switch held?.payload {
        case .headers(var block):
            block.endStream = true
            last = .headers(block)
        case .data(var block):
            block.endStream = true
            last = .data(block)
        default: last = .data(.init(data: .byteBuffer(ByteBuffer()), endStream: true))
        }
        if let earlier = held?.promise { promise?.futureResult.cascade(to: earlier) ?? earlier.succeed() }
        held = nil
        context.write(Self.wrapOutboundOut(last), promise: promise)
    }

    private func release(in context: ChannelHandlerContext) {
        guard let (payload, promise) = held else { return }
        held = nil
        context.write(Self.wrapOutboundOut(payload), promise: promise)
    }

    func flush(context: ChannelHandlerContext) {
        release(in: context)
        context.flush()
    }

    func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
        guard event is StopSending else {
            context.triggerUserOutboundEvent(event, promise: promise)
            return
        }
        context.writeAndFlush(Self.wrapOutboundOut(.rstStream(.noError)), promise: promise)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        held?.promise?.fail(ChannelError.ioOnClosedChannel)
        held = nil
    }
}

extension HTTPRequestHead {
    /// Converts the fields of a HEADERS block.
    ///
    /// - Throws: `HTTPParserError` for an ambiguous or too large head.
    fileprivate init(_ block: HPACKHeaders, hasBody: Bool, fieldLimit: Int) throws {
        guard block.count <= fieldLimit + 4 else { throw HTTPParserError.headerOverflow }
        var method = HTTPMethod.GET
        var path: String?
        var authority: String?
        var host: String?
        var cookies: [String] = []
        var hasLength = false
        var fields: [(String, String)] = []
        fields.reserveCapacity(block.count)
        for (name, value, _) in block {
            // Comparing such a value takes quadratic time, and the method is compared with every known method.
            guard !value.hasTooManyMarks else { throw HTTPParserError.invalidHeaderToken }
            switch name {
            case ":method": method = HTTPMethod(rawValue: value)
            case ":path": path = value
            case ":authority": authority = value
            case ":scheme": break
            case "host":
                guard host == nil else { throw HTTPParserError.invalidHeaderToken }
                host = value
            case "cookie": cookies.append(value)
            case "content-length":
                hasLength = true
                fields.append((name, value))
            default: fields.append((name, value))
            }
        }
        if let host, let authority, host.lowercased() != authority.lowercased() {
            throw HTTPParserError.invalidHeaderToken
        }
        if let host = authority ?? host { fields.append(("host", host)) }
        // HTTP/2 may split a cookie field to compress it; HTTP/1 must not (RFC 9113, section 8.2.3).
        if !cookies.isEmpty { fields.append(("cookie", cookies.joined(separator: "; "))) }
        if hasBody, !hasLength {
            fields.append(("transfer-encoding", "chunked"))
        } else if !hasBody, !hasLength, [.POST, .PUT, .PATCH].contains(method) {
            fields.append(("content-length", "0"))
        }
        self.init(
            version: HTTPVersion(major: 2, minor: 0),
            method: method,
            uri: path ?? authority ?? "",
            headers: HTTPHeaders(fields)
        )
    }
}

extension HPACKHeaders {
    /// Fields whose value differs in each response; indexing them would only evict others from the client's table.
    private static let unique: Set<String> = ["content-length", "date", "etag", "traceparent", "x-request-id"]

    fileprivate init(_ head: HTTPResponseHead) {
        self.init()
        reserveCapacity(head.headers.count + 1)
        add(name: ":status", value: String(head.status.code))
        for (name, value) in head.headers {
            let name = name.lowercased()
            // These fields belong to HTTP/1 connections.
            if name == "connection" || name == "transfer-encoding" || name == "keep-alive" { continue }
            add(name: name, value: value, indexing: Self.unique.contains(name) ? .nonIndexable : .indexable)
        }
    }
}
