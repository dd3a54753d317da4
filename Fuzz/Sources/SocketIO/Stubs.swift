public import NIOCore

/// As in SocketIOServer.swift, which has the server with it.
public enum EngineMessage: Hashable, Sendable {
    case text(ByteBuffer)
    case binary(ByteBuffer)
}

/// As in WebSocketHandler.swift.
struct WebSocketMessage: Sendable {
    let content: EngineMessage
    let lease: PayloadLease?
}
