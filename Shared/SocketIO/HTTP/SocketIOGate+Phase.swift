import NIOCore
import NIOHTTP1

/// How far a connection is with its requests.
extension SocketIOGate {
    /// One of our requests.
    struct Incoming {
        let head: HTTPRequestHead
        var body = ByteBuffer()
        var lease: PayloadLease?
        let limit: Int
        let action: Action
    }

    enum Action {
        case answer(EngineResponse)
        case preflight
        case open(EngineRequest)
        case poll(EngineConnection)
        case post(EngineConnection)
        case webSocket(EngineRequest, EngineConnection?)
    }

    enum Phase {
        /// Between two requests.
        case idle
        /// A request that goes through comes in.
        case passing
        /// One of ours comes in.
        case receiving(Incoming)
        /// One of ours is here and waits for its answer.
        case waiting(PendingRequest, EngineConnection, HTTPRequestHead)
        /// It was answered before it was here; the rest is thrown away, and the connection ends.
        case discarding
        /// Nothing of HTTP comes any more.
        case over
    }
}
