/// The name of a room: a string or a number chosen by the application.
public struct SocketRoom: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    private enum Key: Hashable {
        case name(String)
        case number(UInt64)
    }

    private let key: Key

    /// Creates a room name.
    public init(_ name: String) {
        key = .name(name)
    }

    /// Creates a numbered room, which differs from the room whose name has the same digits.
    public init(_ number: UInt64) {
        key = .number(number)
    }

    public init(stringLiteral name: String) {
        self.init(name)
    }

    public var description: String {
        switch key {
        case .name(let name): name
        case .number(let number): String(number)
        }
    }
}
