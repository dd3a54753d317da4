/// Something a client says to a namespace.
public struct SocketEvent: Sendable {
    public let name: String
    public let arguments: SocketArguments
    /// How to answer; nil if the client wants no answer.
    public let acknowledgement: SocketAcknowledgement?
    /// Its share of ``SocketIOLimits/payloadBytes``, given back when the event is no longer held.
    let leases: [PayloadLease]
}

/// The answer that a client waits for.
///
/// It may be given from any thread. Only the first is sent; none, if the socket is gone.
public final class SocketAcknowledgement: Sendable {
    private let socket: Socket
    private let id: UInt64
    private let isGiven = Flag()

    init(socket: Socket, id: UInt64) {
        self.socket = socket
        self.id = id
    }

    /// Answers.
    public func callAsFunction(_ arguments: SocketArguments = .none) {
        guard isGiven.raise() else { return }
        socket.acknowledge(id, arguments)
    }

    /// Answers with JSON values that have commas between them.
    public func callAsFunction(json: String) {
        callAsFunction(SocketArguments(json: json))
    }
}

/// Why the answer to an event did not come.
public enum AcknowledgementError: Error, Hashable, Sendable {
    /// It took too long.
    case timeout
    /// The socket was, or became, disconnected.
    case disconnected
    /// As many as ``SocketIOLimits/acknowledgements`` are awaited already.
    case tooMany
}
