import Foundation
import Locks
import Logging
import Postgres
import ServiceHost
import ServiceLifecycle
import Wire

/// Keeps in the table of connected devices who has a socket at this instance, and finds out who came and who is away.
///
/// What changes is written behind those who come and go, many at once. The rows hold as long as the instance's lease; the
/// others find one that has passed, and forget it.
final class ConnectedDevices: Sendable {
    private struct State {
        /// Of which it is not written yet that they came or went.
        var changed: Set<ConnectedDevice> = []
        /// Who has left, and when he is away if he is not back.
        var leaving: [User.ID: ContinuousClock.Instant] = [:]
    }

    /// In seconds, how long the rows hold after the instance is gone; renewed three times in that time.
    static let lease = 30.0
    /// How long somebody may be gone until others are told: a telephone changes its network.
    static let grace = Duration.seconds(5)
    private static let batch = 500

    let instance: String
    private let database: PostgresPool
    private let connections: Connections
    private let changeNotifier: ChangeNotifier
    private let presences: Presences
    private let logger: Logger
    private let state = Lock(State())
    private let signals: AsyncStream<Void>
    private let signal: AsyncStream<Void>.Continuation

    init(
        instance: String,
        database: PostgresPool,
        connections: Connections,
        changeNotifier: ChangeNotifier,
        presences: Presences,
        logger: Logger
    ) {
        self.instance = instance
        self.database = database
        self.connections = connections
        self.changeNotifier = changeNotifier
        self.presences = presences
        self.logger = logger
        (signals, signal) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// It was attached or detached.
    func note(_ connection: Connection) {
        state.withLock { state in
            _ = state.changed.insert(ConnectedDevice(user: connection.user, device: connection.device))
        }
        signal.yield()
    }

    var backgroundServices: [any Service] {
        [
            PeriodicTask(
                "lease of the instance",
                every: .milliseconds(Int(Self.lease * 1_000) / 3),
                logger: logger,
                renew
            ),
            PeriodicTask("look for who is away", every: .seconds(1), logger: logger) { [self] in
                try await announceOffline(at: .now)
            },
            PeriodicTask(
                "look for instances that are gone",
                every: .seconds(5),
                logger: logger,
                removeExpiredInstances
            ),
            SignalLoop(signals, write),
        ]
    }

    /// Until the next time; where the instance was forgotten meanwhile, all its devices are written again.
    func renew() async throws {
        let wasHeld = try await changeNotifier.refreshOthers {
            let lease = try await ConnectedDeviceStore(db: database).renew(instance, seconds: Self.lease)
            return (!lease.isAlone, lease.wasHeld)
        }
        guard !wasHeld else { return }
        changeNotifier.publish(.started)
        let devices = connections.devices
        state.withLock { $0.changed.formUnion(devices) }
        signal.yield()
    }

    /// The instance stops: its people are somewhere else soon, or away.
    func end() async {
        let seconds = Double(Self.grace.components.seconds)
        do {
            try await ConnectedDeviceStore(db: database).end(instance, seconds: seconds)
        } catch {
            logger.warning("the lease was not ended", metadata: ["error": "\(error)"])
        }
    }

    /// Writes what changed, as it is now; tells of those who came.
    func write() async {
        while true {
            let batch = state.withLock { state in
                let batch = Array(state.changed.prefix(Self.batch))
                state.changed.subtract(batch)
                return batch
            }
            guard !batch.isEmpty else { return }
            do {
                try await write(batch)
            } catch {
                state.withLock { $0.changed.formUnion(batch) }
                logger.warning("connected devices were not written", metadata: ["error": "\(error)"])
                // Cancelled in its sleep it is at an end.
                guard (try? await Task.sleep(for: .seconds(1))) != nil else { return }
            }
        }
    }

    private func write(_ batch: [ConnectedDevice]) async throws {
        let store = ConnectedDeviceStore(db: database)
        let sorted = Dictionary(grouping: batch) { connections.isConnected($0.user, device: $0.device) }
        if let gone = sorted[false] {
            try await store.delete(gone, at: instance)
            let away = gone.map(\.user).filter { !connections.isConnected($0) }
            state.withLock { state in
                for user in away { state.leaving[user] = .now + Self.grace }
            }
        }
        if let come = sorted[true] {
            let new = try await store.insert(come, at: instance)
            for user in new where state.withLock({ $0.leaving.removeValue(forKey: user) }) == nil {
                presences.announce(Presence(user: user, isOnline: true, lastSeen: Date()))
            }
        }
    }

    /// Tells of those who left and have not come back, here or anywhere.
    func announceOffline(at now: ContinuousClock.Instant) async throws {
        let due = state.withLock { state in
            let due = state.leaving.filter { $0.value <= now }.map(\.key)
            for user in due { state.leaving[user] = nil }
            return due
        }
        do {
            try await announceOffline(due.filter { !connections.isConnected($0) })
        } catch {
            state.withLock { state in
                for user in due where state.leaving[user] == nil { state.leaving[user] = now }
            }
            throw error
        }
    }

    /// Forgets instances whose leases have passed; whose people are nowhere else is told.
    func removeExpiredInstances() async throws {
        while let users = try await ConnectedDeviceStore(db: database).removeExpiredInstance() {
            try await announceOffline(users)
        }
    }

    private func announceOffline(_ users: [User.ID]) async throws {
        for (application, users) in Dictionary(grouping: users, by: \.application) {
            let store = PresenceStore(db: database.reads)
            for presence in try await store.presences(of: users.map(\.user), of: application) where !presence.isOnline {
                presences.announce(presence)
            }
        }
    }
}
