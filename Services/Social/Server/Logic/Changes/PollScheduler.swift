import Logging
import Postgres
import ServiceLifecycle
import SocialAPI
import Synchronization

/// Takes up looks at one network as they fall due: a bounded number at once, and the next as soon as one is done.
///
/// So one that hangs holds up no more than its own place among them.
struct PollScheduler: Service {
    /// How many an instance has under way of one network.
    private static let limit = 64
    /// From one round to the next.
    private static let pause: Duration = .seconds(1)
    /// The same while more may be due than there was room for.
    private static let shortPause: Duration = .milliseconds(50)

    /// How many are under way.
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
                    for one in claimed {
                        polls.addTask {
                            await poll(one)
                            slots.release()
                        }
                    }
                    // Cancelled in its sleep it is at an end, and the condition above says so.
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
            logger.warning("looks not taken up", metadata: ["network": "\(network)", "error": "\(error)"])
            return []
        }
    }
}
