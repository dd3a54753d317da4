import Synchronization

/// Something that happens once, whoever comes first.
final class Flag: Sendable {
    private let state = Atomic(false)

    var isRaised: Bool { state.load(ordering: .acquiring) }

    /// True for the first who asks.
    func raise() -> Bool {
        !state.exchange(true, ordering: .acquiringAndReleasing)
    }
}
