public import NIOCore
import NIOHTTP1

/// NIO's HTTP/1 handlers in a pipeline.
enum HTTPHandlers {
    /// Adds the HTTP encoder and decoder.
    static func add(to pipeline: ChannelPipeline.SynchronousOperations) throws {
        var limits = NIOHTTPDecoderLimitConfiguration()
        limits.maxHeaderFieldSize = 16_384
        limits.maxHeaderListSize = 65_536
        limits.maxHeaderFieldCount = 200
        // Data that the client sends after its upgrade request and before the response belongs to the WebSocket.
        let decoder = HTTPRequestDecoder(
            leftOverBytesStrategy: .forwardBytes,
            informationalResponseStrategy: .drop,
            limitConfiguration: limits
        )
        try pipeline.addHandlers(HTTPResponseEncoder(), ByteToMessageHandler(decoder))
    }

    /// Removes the HTTP handlers and the gates; the decoder last, since it forwards its unread bytes on removal.
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
    /// Adds the HTTP/1 decoder and encoder to a channel; call it before adding a gate.
    ///
    /// A request head may have 200 fields of 16,384 bytes each, 65,536 bytes in all.
    ///
    /// - Throws: An error of NIO if the handlers cannot be added.
    public static func addHTTP(to channel: any Channel) throws {
        try HTTPHandlers.add(to: channel.pipeline.syncOperations)
    }
}
