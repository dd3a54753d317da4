import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import NIOHTTPTypesHTTP1

/// A connection of HTTP/1 with a gate before its routes.
///
/// What the routes need is put in place when the first request comes through to them, so that a connection which becomes
/// a WebSocket costs neither handlers nor a task.
struct GatedHTTP1Channel: HTTPChannelHandler {
    typealias Routes = NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>

    /// What is known of a connection when it opens: that it may come to have routes.
    struct Value: ServerChildChannelValue {
        let channel: any Channel
        /// Nil for one that has become the gate's, or closed before.
        let routes: EventLoopFuture<Routes?>
    }

    let responder: HTTPChannelHandler.Responder
    let gate: ConnectionGate
    let limits: NIOHTTPDecoderLimitConfiguration
    /// How long nothing may go over a connection that has routes.
    let idleTimeout: TimeAmount
    /// How long a request's body may take, whatever its rate.
    let bodyGrace: TimeAmount
    let drain: Drain

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        channel.eventLoop.makeCompletedFuture {
            drain.count(channel)
            let pipeline = channel.pipeline.syncOperations
            try pipeline.configureHTTPServerPipeline(
                // Hummingbird takes requests one after another, and the gate keeps the order itself.
                withPipeliningAssistance: false,
                // An error must come through: the routes answer it.
                withErrorHandling: false,
                // Done by the types of HTTP that the routes speak.
                withOutboundHeaderValidation: false,
                withEncoderConfiguration: .init(),
                withDecoderLimitConfiguration: limits
            )
            let routes = channel.eventLoop.makePromise(of: Routes?.self)
            // The first of these to come about counts.
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
                    // Its own heartbeat watches over it; there is nothing to remove where it had no routes.
                    channel.pipeline.removeHandler(name: IdleTimeoutHandler.name, promise: nil)
                }
            )
            return Value(channel: channel, routes: routes.futureResult)
        }
    }

    /// As `HTTP1Channel` puts them behind its decoder.
    ///
    /// Silence is measured over all of the connection: Hummingbird's own measure does not see what the gate answers, and
    /// would close a connection in the middle of that.
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
        // It never fails.
        guard let routes = try? await value.routes.get() else { return }
        await handleHTTP(asyncChannel: routes, logger: logger)
    }
}
