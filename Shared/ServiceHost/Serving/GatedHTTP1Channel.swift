import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import NIOHTTPTypesHTTP1

/// An HTTP/1 connection with a gate in front of its routes.
///
/// The handlers of the routes are installed when the gate forwards the first request. A connection that becomes a
/// WebSocket therefore needs neither handlers nor a task.
struct GatedHTTP1Channel: HTTPChannelHandler {
    typealias Routes = NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>

    /// A new connection, whose routes may be installed later.
    struct Value: ServerChildChannelValue {
        let channel: any Channel
        /// The channel of the routes; nil if the gate took over the connection or it closed first.
        let routes: EventLoopFuture<Routes?>
    }

    let responder: HTTPChannelHandler.Responder
    let gate: ConnectionGate
    let limits: NIOHTTPDecoderLimitConfiguration
    /// The idle timeout of a connection with routes.
    let idleTimeout: TimeAmount
    /// The time that a request's body may take, regardless of its rate.
    let bodyGrace: TimeAmount
    let drain: Drain

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        channel.eventLoop.makeCompletedFuture {
            drain.count(channel)
            let pipeline = channel.pipeline.syncOperations
            try pipeline.configureHTTPServerPipeline(
                // Hummingbird processes requests one after another, and the gate keeps the order of responses itself.
                withPipeliningAssistance: false,
                // Errors must reach the routes, which send the response.
                withErrorHandling: false,
                // The routes' HTTP types validate header fields.
                withOutboundHeaderValidation: false,
                withEncoderConfiguration: .init(),
                withDecoderLimitConfiguration: limits
            )
            let routes = channel.eventLoop.makePromise(of: Routes?.self)
            // The first of the following events completes the promise.
            channel.closeFuture.whenComplete { _ in routes.succeed(nil) }
            try gate.install(
                channel,
                { channel in
                    do {
                        routes.succeed(try self.routes(on: channel, logger: logger))
                    } catch {
                        channel.close(promise: nil)
                        throw error
                    }
                },
                {
                    routes.succeed(nil)
                    // The gate has its own heartbeat. Removal fails harmlessly if the connection has no routes.
                    channel.pipeline.removeHandler(name: IdleTimeoutHandler.name, promise: nil)
                }
            )
            return Value(channel: channel, routes: routes.futureResult)
        }
    }

    /// Installs the handlers that `HTTP1Channel` would install behind its decoder.
    ///
    /// The idle timeout covers the whole connection. Hummingbird's own timeout does not see the gate's responses and
    /// would close the connection during one.
    ///
    /// - Parameters:
    ///   - channel: the connection.
    ///   - logger: the server's logger.
    /// - Returns: the channel of the routes.
    /// - Throws: an error if the pipeline is already closed.
    private func routes(on channel: any Channel, logger: Logger) throws -> Routes {
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(IdleTimeoutHandler(idleTimeout), name: IdleTimeoutHandler.name, position: .first)
        try pipeline.addHandler(HTTP1ToHTTPServerCodec(secure: false))
        try pipeline.addHandler(BodyRateLimit(grace: bodyGrace))
        try pipeline.addHandler(HTTPConnectionStateHandler(idleTimeout: nil, logger: logger))
        return try NIOAsyncChannel(
            wrappingChannelSynchronously: channel,
            configuration: .init(isOutboundHalfClosureEnabled: true)
        )
    }

    func handle(value: Value, logger: Logger) async {
        // The future never fails.
        guard let routes = try? await value.routes.get() else { return }
        await handleHTTP(asyncChannel: routes, logger: logger)
    }
}
