/// Names something that an application keeps with a socket.
///
/// ```swift
/// enum Account: SocketDataKey { typealias Value = User.ID }
/// socket[Account.self] = user
/// ```
public protocol SocketDataKey {
    associatedtype Value: Sendable
}
