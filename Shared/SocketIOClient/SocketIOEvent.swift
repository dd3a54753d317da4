public import Foundation

/// An event from the server.
public struct SocketIOEvent: Hashable, Sendable {
    /// The event's name.
    public let name: String
    /// The arguments, each as undecoded JSON.
    public let arguments: [Data]
    /// The number of the requested acknowledgement, or nil; see ``SocketIOConnection/acknowledge(_:_:)``.
    public let acknowledgement: Int?

    /// Creates an event.
    public init(name: String, arguments: [Data], acknowledgement: Int? = nil) {
        self.name = name
        self.arguments = arguments
        self.acknowledgement = acknowledgement
    }
}
