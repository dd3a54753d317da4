import Synchronization

/// The memory of all clients' large messages, from the first byte until the message is handled.
///
/// The limit per message does not bound the total of thousands of clients that send large, incomplete messages.
final class PayloadLedger: Sendable {
    /// Messages up to this size in bytes are not counted: read buffers have the same size.
    static let small = 65_536

    private let limit: Int
    private let used = Atomic(0)

    init(limit: Int) {
        self.limit = limit
    }

    fileprivate func reserve(_ bytes: Int) -> Bool {
        let after = used.wrappingAdd(bytes, ordering: .relaxed).newValue
        if after <= limit { return true }
        release(bytes)
        return false
    }

    fileprivate func release(_ bytes: Int) {
        used.wrappingSubtract(bytes, ordering: .relaxed)
    }
}

/// A message's share of the ledger, released with the last reference.
final class PayloadLease: Sendable {
    private let ledger: PayloadLedger
    private let covered = Atomic(0)

    init(_ ledger: PayloadLedger) {
        self.ledger = ledger
    }

    deinit {
        ledger.release(covered.load(ordering: .relaxed))
    }

    /// Extends the lease to `bytes`; false if the ledger has no memory left.
    ///
    /// Not safe to call concurrently.
    func cover(_ bytes: Int) -> Bool {
        let lacking = bytes - covered.load(ordering: .relaxed)
        guard lacking > 0 else { return true }
        guard ledger.reserve(lacking) else { return false }
        covered.wrappingAdd(lacking, ordering: .relaxed)
        return true
    }
}
