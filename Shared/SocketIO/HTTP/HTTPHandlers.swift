public import NIOCore
import NIOHTTP1

/// What NIO has of HTTP/1 in a pipeline.
enum HTTPHandlers {
    /// Adds what comes before a gate.
    static func add(to pipeline: ChannelPipeline.SynchronousOperations) throws {
        var limits = NIOHTTPDecoderLimitConfiguration()
        limits.maxHeaderFieldSize = 16_384
        limits.maxHeaderListSize = 65_536
        limits.maxHeaderFieldCount = 200
        // What a client sends behind its request to upgrade, before it is answered, is the WebSocket's.
        let decoder = HTTPRequestDecoder(
            leftOverBytesStrategy: .forwardBytes,
            informationalResponseStrategy: .drop,
            limitConfiguration: limits
        )
        try pipeline.addHandlers(HTTPResponseEncoder(), ByteToMessageHandler(decoder))
    }

    /// Removes all of it, and the gates; the decoder last, since it passes on what it has read too much.
    static func remove(from pipeline: ChannelPipeline.SynchronousOperations) {
        remove(HTTPResponseEncoder.self, pipeline)
        remove(HTTPServerPipelineHandler.self, pipeline)
        remove(HTTPServerProtocolErrorHandler.self, pipeline)
        remove(NIOHTTPRequestHeadersValidator.self, pipeline)
        remove(NIOHTTPResponseHeadersValidator.self, pipeline)
        remove(SocketIOGate.self, pipeline)
        remove(ByteToMessageHandler<HTTPRequestDecoder>.self, pipeline)
    }

    private static func remove<Handler: ChannelHandler>(
        _ type: Handler.Type,
        _ pipeline: ChannelPipeline.SynchronousOperations
    ) {
        guard let context = try? pipeline.context(handlerType: type) else { return }
        pipeline.removeHandler(context: context, promise: nil)
        if type == SocketIOGate.self { remove(type, pipeline) }
    }
}

extension SocketIOGate {
    /// Adds the HTTP/1 decoder and encoder, with bounds on a request's head.
    public static func addHTTP(to channel: any Channel) throws {
        try HTTPHandlers.add(to: channel.pipeline.syncOperations)
    }
}
