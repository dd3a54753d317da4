import Locks
import Logging
import ServiceHost
import ServiceLifecycle
import SocialAPI
import Wire

/// Keeps connections open to networks with event streams, for the accounts of users with an open stream here.
///
/// The lists of other users are only polled. A change that is reported both ways is recorded once.
final class NetworkStreamConsumer: Service {
    /// The maximum number of open connections to networks.
    private static let maximum = 1_000
    /// The shortest and the longest pause between two attempts, in milliseconds.
    private static let shortest = 500
    private static let longest = 60_000
    /// A stream that lasted longer than this resets the pause.
    private static let steady: Duration = .seconds(60)

    private let sources: Sources
    private let changeLog: ChangeLog
    private let subscribers: StreamSubscribers
    private let logger: Logger
    /// The open streams by the key of their account.
    private let streams = Lock<[String: Task<Void, Never>]>([:])

    init(sources: Sources, changeLog: ChangeLog, subscribers: StreamSubscribers, logger: Logger) {
        self.sources = sources
        self.changeLog = changeLog
        self.subscribers = subscribers
        self.logger = logger
    }

    func run() async throws {
        let round = PeriodicTask("network streams", every: .seconds(1), logger: logger, updateStreams)
        await round.run()
        for task in streams.withLock({ Array($0.values) }) { task.cancel() }
    }

    /// Opens streams for new subscribers and closes those without a subscriber.
    private func updateStreams() async throws {
        var wanted: [String: Source] = [:]
        for user in subscribers.users where wanted.count < Self.maximum {
            do {
                for source in try await sources.all(for: Caller(user: user)) {
                    guard source.connector is any StreamingConnector, source.record?.state == .linked else { continue }
                    wanted[source.key] = source
                }
            } catch {
                // One user's unreadable account must not affect the streams of other users.
                guard let failed = FailedRow([user.application, user.user], error) else { throw error }
                logger.warning(
                    "accounts of a user cannot be read",
                    metadata: ["user": "\(failed.key)", "detail": "\(failed.detail)"]
                )
            }
        }
        let wantedKeys = Set(wanted.keys)
        let ended = streams.withLock { streams in
            let ended = streams.filter { !wantedKeys.contains($0.key) }
            for key in ended.keys { streams[key] = nil }
            for (key, source) in wanted where streams[key] == nil {
                streams[key] = Task { await self.readEvents(source) }
            }
            return ended.values
        }
        for task in ended { task.cancel() }
    }

    private func readEvents(_ source: Source) async {
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
                logger.debug("network stream ended", metadata: ["reason": "\(reason)"])
            }
            // A received event does not reset the pause, because an instance may end every stream after one event.
            if ContinuousClock.now - start > Self.steady { pause = Self.shortest }
            // A cancelled sleep needs no handling, because the loop's condition checks for cancellation.
            try? await Task.sleep(for: .milliseconds(pause + .random(in: 0...pause / 2)))
            pause = min(pause * 2, Self.longest)
        }
    }
}
