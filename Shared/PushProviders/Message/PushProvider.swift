/// Hands notifications to one of the push services.
public protocol PushProvider: Sendable {
    /// Sends one notification to one device and waits for the provider's word on it.
    ///
    /// It does not throw: that there was no answer is an outcome like others. Calls may run side by side in any number;
    /// what is more than the provider's connections take waits for its turn, within the same time limit. Cancelling the
    /// task ends the waiting, not a request that is under way.
    func send(_ message: PushMessage, to target: PushTarget) async -> PushReply

    /// Takes no more, waits for the answers under way and closes the connections.
    func shutdown() async
}

/// Credentials or addresses that cannot be used; says which, and nothing of what they are.
public struct PushCredentialsError: Error, Hashable, Sendable, CustomStringConvertible {
    public let description: String

    init(_ description: String) {
        self.description = description
    }
}
