/// The key and type of an application's value on a socket.
///
/// ```swift
/// enum Account: SocketDataKey { typealias Value = User.ID }
/// socket[Account.self] = user
/// ```
public protocol SocketDataKey {
    associatedtype Value: Sendable
}
