import Logging
import Postgres
import ServiceLifecycle
import SocialAPI
import Synchronization

/// Claims and runs the due polls of one network: at most 64 at a time, and the next as soon as one is done.
///
/// A poll that hangs therefore only occupies its own slot.
struct PollScheduler: Service {
    /// The maximum number of concurrent polls of one network per instance.
    private static let limit = 64
    /// The pause between two claims.
    private static let pause: Duration = .seconds(1)
    /// The pause between two claims while more polls may be due than there were free slots.
    private static let shortPause: Duration = .milliseconds(50)

    private final class Slots: Sendable {
        private let used = Atomic(0)

        var free: Int { limit - used.load(ordering: .relaxed) }

        func acquire(_ count: Int) { used.add(count, ordering: .relaxed) }
        func release() { used.subtract(1, ordering: .relaxed) }
    }

    private let network: Network
    private let logger: Logger
    private let claim: @Sendable (Network, _ limit: Int) async throws -> [ClaimedPoll]
    private let poll: @Sendable (ClaimedPoll) async -> Void

    init(
        of network: Network,
        logger: Logger,
        claim: @escaping @Sendable (Network, _ limit: Int) async throws -> [ClaimedPoll],
        poll: @escaping @Sendable (ClaimedPoll) async -> Void
    ) {
        self.network = network
        self.logger = logger
        self.claim = claim
        self.poll = poll
    }

    func run() async {
        let slots = Slots()
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { polls in
                while !Task.isCancelled {
                    let free = slots.free
                    let claimed = await claimed(free)
                    slots.acquire(claimed.count)
                    for claimedPoll in claimed {
                        polls.addTask {
                            await poll(claimedPoll)
                            slots.release()
                        }
                    }
                    // A cancelled sleep needs no handling, because the loop's condition checks for cancellation.
                    try? await Task.sleep(for: claimed.count == free ? Self.shortPause : Self.pause)
                }
            }
        }
    }

    private func claimed(_ free: Int) async -> [ClaimedPoll] {
        guard free > 0 else { return [] }
        do {
            return try await claim(network, free)
        } catch is CancellationError {
            return []
        } catch {
            logger.warning("polls could not be claimed", metadata: ["network": "\(network)", "error": "\(error)"])
            return []
        }
    }
}
