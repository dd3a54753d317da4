import Synchronization

/// What the large messages of all clients take together, from their first byte until they are handled.
///
/// One client's limit says nothing about thousands that each begin a large message and never end it.
final class PayloadLedger: Sendable {
    /// Messages up to this many bytes are too small to count: reads have buffers of that size.
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

/// One message's part of the ledger, given back with the last who holds it.
final class PayloadLease: Sendable {
    private let ledger: PayloadLedger
    private let covered = Atomic(0)

    init(_ ledger: PayloadLedger) {
        self.ledger = ledger
    }

    deinit {
        ledger.release(covered.load(ordering: .relaxed))
    }

    /// Makes it enough for so many bytes; false if there is no room for them.
    ///
    /// Not called from two threads at once.
    func cover(_ bytes: Int) -> Bool {
        let lacking = bytes - covered.load(ordering: .relaxed)
        guard lacking > 0 else { return true }
        guard ledger.reserve(lacking) else { return false }
        covered.wrappingAdd(lacking, ordering: .relaxed)
        return true
    }
}
