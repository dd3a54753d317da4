/// An event received from a client.
public struct SocketEvent: Sendable {
    /// The event's name.
    public let name: String
    /// The event's arguments.
    public let arguments: SocketArguments
    /// Sends the acknowledgement; nil if the client requested none.
    public let acknowledgement: SocketAcknowledgement?
    /// The event's share of ``SocketIOLimits/payloadBytes``, released with the event.
    let leases: [PayloadLease]
}

/// A function that answers a client's event.
///
/// It may be called from any thread. Only the first call has an effect, and none after the socket is disconnected.
public final class SocketAcknowledgement: Sendable {
    private let socket: Socket
    private let id: UInt64
    private let isGiven = Flag()

    init(socket: Socket, id: UInt64) {
        self.socket = socket
        self.id = id
    }

    /// Sends the acknowledgement.
    public func callAsFunction(_ arguments: SocketArguments = .none) {
        guard isGiven.raise() else { return }
        socket.acknowledge(id, arguments)
    }

    /// Sends the acknowledgement with JSON values that are separated by commas.
    public func callAsFunction(json: String) {
        callAsFunction(SocketArguments(json: json))
    }
}

/// The error of a missing acknowledgement.
public enum AcknowledgementError: Error, Hashable, Sendable {
    /// The client did not acknowledge the event in time.
    case timeout
    /// The socket was or became disconnected.
    case disconnected
    /// The socket already waits for ``SocketIOLimits/acknowledgements`` acknowledgements.
    case tooMany
}
