/// A client of one push provider.
public protocol PushProvider: Sendable {
    /// Sends one notification to one device and returns the provider's reply.
    ///
    /// The method does not throw: a missing reply is an outcome too. Any number of calls can run concurrently. Calls
    /// beyond the capacity of the provider's connections wait, within the same time limit. Cancelling the task ends the
    /// wait, but does not recall a request that was already sent.
    ///
    /// - Parameters:
    ///   - message: the notification.
    ///   - target: the device; a target of another provider is rejected with ``PushOutcome/refused``.
    /// - Returns: the outcome, with the provider's status and reason.
    func send(_ message: PushMessage, to target: PushTarget) async -> PushReply

    /// Rejects new requests, waits for pending replies, and closes the connections.
    func shutdown() async
}

/// An error about unusable credentials or URLs; the description contains no secret.
public struct PushCredentialsError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The field that is invalid and what is allowed.
    public let description: String

    init(_ description: String) {
        self.description = description
    }
}
