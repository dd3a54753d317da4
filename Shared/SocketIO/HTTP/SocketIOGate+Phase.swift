import NIOCore
import NIOHTTP1

/// The request state of an HTTP connection.
extension SocketIOGate {
    /// A request under the server's path.
    struct Incoming {
        let head: HTTPRequestHead
        var body = ByteBuffer()
        var lease: PayloadLease?
        let limit: Int
        let action: Action
    }

    enum Action {
        case respond(EngineResponse)
        case preflight
        case open(EngineRequest)
        case poll(EngineConnection)
        case post(EngineConnection)
        case webSocket(EngineRequest, EngineConnection?)
    }

    enum Phase {
        /// Between two requests.
        case idle
        /// Forwarding a request of another path to the next handler.
        case passing
        /// Receiving a Socket.IO request.
        case receiving(Incoming)
        /// A Socket.IO request was received completely and waits for its response.
        case waiting(PendingRequest, EngineConnection, HTTPRequestHead)
        /// The response was sent before the whole request arrived; the rest is discarded and the connection closes.
        case discarding
        /// HTTP has ended on this connection.
        case over
    }
}
