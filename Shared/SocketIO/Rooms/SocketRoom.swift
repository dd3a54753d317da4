/// What sockets join, to be reached together: a name or a number that means something to the application.
public struct SocketRoom: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    private enum Key: Hashable {
        case name(String)
        case number(UInt64)
    }

    private let key: Key

    public init(_ name: String) {
        key = .name(name)
    }

    /// A room that has a number; not the same as the one of that name.
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
