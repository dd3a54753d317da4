import Synchronization

/// A flag that can be raised once, from any thread.
final class Flag: Sendable {
    private let state = Atomic(false)

    var isRaised: Bool { state.load(ordering: .acquiring) }

    /// Raises the flag; returns true for the first call.
    func raise() -> Bool {
        !state.exchange(true, ordering: .acquiringAndReleasing)
    }
}
