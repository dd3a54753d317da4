import Locks
import Logging
import ServiceHost
import ServiceLifecycle
import SocialAPI
import Wire

/// Holds a connection open to networks that tell by themselves, for each account of somebody who listens here.
///
/// Who does not listen is told by looking; what is heard both ways is written down once.
final class NetworkStreamConsumer: Service {
    /// How many accounts are followed at once.
    private static let maximum = 1_000
    /// Pauses between two attempts, in milliseconds.
    private static let shortest = 500
    private static let longest = 60_000
    /// A stream that lasted so long begins with the shortest pause again.
    private static let steady: Duration = .seconds(60)

    private let sources: Sources
    private let changeLog: ChangeLog
    private let subscribers: StreamSubscribers
    private let logger: Logger
    /// By the account's key.
    private let followed = Lock<[String: Task<Void, Never>]>([:])

    init(sources: Sources, changeLog: ChangeLog, subscribers: StreamSubscribers, logger: Logger) {
        self.sources = sources
        self.changeLog = changeLog
        self.subscribers = subscribers
        self.logger = logger
    }

    func run() async throws {
        let round = PeriodicTask("following of networks", every: .seconds(1), logger: logger, follow)
        await round.run()
        for task in followed.withLock({ Array($0.values) }) { task.cancel() }
    }

    /// Begins to follow who has come, and leaves who has gone.
    private func follow() async throws {
        var wanted: [String: Source] = [:]
        for user in subscribers.users where wanted.count < Self.maximum {
            do {
                for source in try await sources.all(for: Caller(user: user)) {
                    guard source.connector is any StreamingConnector, source.record?.state == .linked else { continue }
                    wanted[source.key] = source
                }
            } catch {
                // An account that cannot be read keeps no other user from being followed.
                guard let failed = FailedRow([user.application, user.user], error) else { throw error }
                logger.warning(
                    "accounts of a user cannot be read",
                    metadata: ["user": "\(failed.key)", "detail": "\(failed.detail)"]
                )
            }
        }
        let known = Set(wanted.keys)
        let ended = followed.withLock { followed in
            let ended = followed.filter { !known.contains($0.key) }
            for key in ended.keys { followed[key] = nil }
            for (key, source) in wanted where followed[key] == nil {
                followed[key] = Task { await self.follow(source) }
            }
            return ended.values
        }
        for task in ended { task.cancel() }
    }

    private func follow(_ source: Source) async {
        guard let connector = source.connector as? any StreamingConnector else { return }
        var pause = Self.shortest
        while !Task.isCancelled {
            let start = ContinuousClock.now
            do {
                for try await event in try await connector.events(as: source.account) {
                    let key = PolledListKey(user: source.account.owner, network: source.network, list: event.list)
                    try await changeLog.record(event.change, of: key)
                }
            } catch {
                let reason = NetworkError(error, isWrite: false).reason
                logger.debug("a stream of a network ended", metadata: ["reason": "\(reason)"])
            }
            // Events alone prove nothing: an instance may end every stream after one.
            if ContinuousClock.now - start > Self.steady { pause = Self.shortest }
            // Cancelled in its sleep it is at an end, and the condition above says so.
            try? await Task.sleep(for: .milliseconds(pause + .random(in: 0...pause / 2)))
            pause = min(pause * 2, Self.longest)
        }
    }
}
