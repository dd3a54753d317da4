import Foundation
import Locks
import Logging
import Postgres
import ServiceHost
import ServiceLifecycle
import Wire

/// The table of connected devices for this instance, and the detection of users who come online or go offline.
///
/// Changes are written asynchronously, in batches. The rows are valid as long as the instance's lease; other instances
/// remove an instance whose lease has expired.
final class ConnectedDevices: Sendable {
    private struct State {
        /// The devices whose connection or disconnection is not yet written to the database.
        var changed: Set<ConnectedDevice> = []
        /// The disconnected users, with the time at which they count as offline.
        var leaving: [User.ID: ContinuousClock.Instant] = [:]
    }

    /// How long the rows stay valid after the instance has crashed, in seconds.
    ///
    /// The lease is renewed three times in this period.
    static let lease = 30.0
    /// How long a user may be disconnected before others are notified: a phone may be changing its network.
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

    /// Records that a connection was attached or detached.
    func note(_ connection: Connection) {
        state.withLock { state in
            _ = state.changed.insert(ConnectedDevice(user: connection.user, device: connection.device))
        }
        signal.yield()
    }

    var backgroundServices: [any Service] {
        [
            PeriodicTask(
                "instance lease",
                every: .milliseconds(Int(Self.lease * 1_000) / 3),
                logger: logger,
                renew
            ),
            PeriodicTask("offline presences", every: .seconds(1), logger: logger) { [self] in
                try await announceOffline(at: .now)
            },
            PeriodicTask(
                "removal of expired instances",
                every: .seconds(5),
                logger: logger,
                removeExpiredInstances
            ),
            SignalLoop(signals, write),
        ]
    }

    /// Renews the lease.
    ///
    /// If another instance has removed this one meanwhile, all devices of this instance are written again.
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

    /// Shortens the lease when the instance stops: its users soon reconnect elsewhere, or are offline.
    func end() async {
        let seconds = Double(Self.grace.components.seconds)
        do {
            try await ConnectedDeviceStore(db: database).end(instance, seconds: seconds)
        } catch {
            logger.warning("cannot shorten instance lease", metadata: ["error": "\(error)"])
        }
    }

    /// Writes changed devices in their current state, and announces users who came online.
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
                logger.warning("cannot write connected devices", metadata: ["error": "\(error)"])
                // A sleep that was cancelled ends the loop.
                guard (try? await Task.sleep(for: .seconds(1))) != nil else { return }
            }
        }
    }

    private func write(_ batch: [ConnectedDevice]) async throws {
        let store = ConnectedDeviceStore(db: database)
        let sorted = Dictionary(grouping: batch) { connections.isConnected($0.user, device: $0.device) }
        if let disconnected = sorted[false] {
            try await store.delete(disconnected, at: instance)
            let offline = disconnected.map(\.user).filter { !connections.isConnected($0) }
            state.withLock { state in
                for user in offline { state.leaving[user] = .now + Self.grace }
            }
        }
        if let connected = sorted[true] {
            let new = try await store.insert(connected, at: instance)
            for user in new where state.withLock({ $0.leaving.removeValue(forKey: user) }) == nil {
                presences.announce(Presence(user: user, isOnline: true, lastSeen: Date()))
            }
        }
    }

    /// Announces disconnected users who have not reconnected, here or at another instance.
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

    /// Removes instances with expired leases, and announces their users who are not connected elsewhere.
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
