import NIOCore
import Wire

/// A request that a signed-in client makes over a socket.
struct SocketCall: Sendable {
    let caller: SocketCaller
    /// The event's first argument; nil where there is none.
    let payload: ByteBuffer?

    var user: User.ID { caller.user }
    /// The bytes of the payload.
    var size: Int { payload?.readableBytes ?? 0 }

    /// Decodes the payload; an absent payload counts as an empty object.
    func decode<Payload: Decodable>(
        as type: Payload.Type = Payload.self,
        limits: JSONLimits = .largeWithMeta
    ) throws -> Payload {
        try Self.decode(type, from: payload, limits: limits)
    }

    static func decode<Payload: Decodable>(
        _ type: Payload.Type,
        from payload: ByteBuffer?,
        limits: JSONLimits
    ) throws -> Payload {
        guard let payload, payload.readableBytesView != Self.null else {
            return try WireJSON.decode(type, from: JSONValue.object([:]))
        }
        return try WireJSON.decode(type, from: payload.readableBytesView, limits: limits)
    }

    private static let null = ByteBuffer(string: "null").readableBytesView
}

/// The user who is signed in on a socket.
struct SocketCaller: Sendable {
    let user: User.ID
    /// The device's serial.
    let device: String
    /// Receives the events of the user's conversations.
    let connection: Connection
}
