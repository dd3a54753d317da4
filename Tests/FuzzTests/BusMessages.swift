@testable import ConversationsServer

extension FuzzTarget {
    /// What another instance says, perhaps of another release; not in Fuzz/, since it needs most of the service.
    static let busMessage = FuzzTarget("bus-message") { bytes in
        guard let message = BusMessage(String(decoding: bytes, as: UTF8.self)) else { return }
        _ = message.key
        // A time may lose its last digits.
        precondition(BusMessage(message.text) != nil, "a message is written as none")
    }
}
