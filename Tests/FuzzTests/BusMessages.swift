@testable import ConversationsServer

extension FuzzTarget {
    /// A message of another instance, which may run another release.
    ///
    /// This target is not in Fuzz/, because it needs most of the service.
    static let busMessage = FuzzTarget("bus-message") { bytes in
        guard let message = BusMessage(String(decoding: bytes, as: UTF8.self)) else { return }
        _ = message.key
        // Encoding may round a time, so the text is decoded but not compared.
        precondition(BusMessage(message.text) != nil, "an encoded message cannot be decoded")
    }
}
