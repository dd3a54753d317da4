import NIOCore
import Wire

/// A request that somebody signed in makes over a socket.
struct SocketCall: Sendable {
    let caller: SocketCaller
    /// The event's first argument; nil where there is none.
    let payload: ByteBuffer?

    var user: User.ID { caller.user }
    /// Bytes of what it says.
    var size: Int { payload?.readableBytes ?? 0 }

    /// What the request says; nothing is as an empty object.
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

/// Who is signed in with a socket.
struct SocketCaller: Sendable {
    let user: User.ID
    /// The device's serial.
    let device: String
    /// By which he hears what happens.
    let connection: Connection
}
