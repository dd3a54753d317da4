public import NIOCore

/// A copy of the type in SocketIOServer.swift, which would also compile the server.
public enum EngineMessage: Hashable, Sendable {
    case text(ByteBuffer)
    case binary(ByteBuffer)
}

/// A copy of the type in WebSocketHandler.swift.
struct WebSocketMessage: Sendable {
    let content: EngineMessage
    let lease: PayloadLease?
}
