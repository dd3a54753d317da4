public import Foundation

/// What the server said.
public struct SocketIOEvent: Hashable, Sendable {
    public let name: String
    /// Each as JSON, to be decoded by who knows what it is.
    public let arguments: [Data]
    /// The number by which the server wants it acknowledged; see ``SocketIOConnection/acknowledge(_:_:)``.
    public let acknowledgement: Int?

    public init(name: String, arguments: [Data], acknowledgement: Int? = nil) {
        self.name = name
        self.arguments = arguments
        self.acknowledgement = acknowledgement
    }
}
