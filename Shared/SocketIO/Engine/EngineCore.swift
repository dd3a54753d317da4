import Locks
import NIOCore
import NIOHTTP1

/// The state shared by all connections of a server.
final class EngineCore: Sendable {
    private struct Connections {
        var all: [String: EngineConnection] = [:]
        /// The number of connections that are not yet admitted, by key.
        var unjoined: [String: Int] = [:]
    }

    let configuration: SocketIOConfiguration
    let payloads: PayloadLedger
    private let connections = Lock(Connections())
    private let loops = Lock<[EngineLoop]>([])
    private let closing = Flag()

    init(configuration: SocketIOConfiguration) {
        self.configuration = configuration
        payloads = PayloadLedger(limit: configuration.limits.payloadBytes)
    }

    var isClosing: Bool { closing.isRaised }

    // MARK: Loops

    func loop(for eventLoop: any EventLoop) -> EngineLoop {
        loops.withLock { loops in
            if let existing = loops.first(where: { $0.eventLoop === eventLoop }) { return existing }
            let created = EngineLoop(eventLoop: eventLoop, step: step)
            loops.append(created)
            return created
        }
    }

    /// The precision of deadlines: a twentieth of the shorter heartbeat setting, within 5 to 100 ms.
    var step: TimeAmount {
        let shortest = min(TimeAmount(configuration.pingInterval), TimeAmount(configuration.pingTimeout))
        return max(.milliseconds(5), min(.milliseconds(100), .nanoseconds(shortest.nanoseconds / 20)))
    }

    // MARK: Connections

    var connectionCount: Int { connections.withLock { $0.all.count } }

    func connection(_ id: String) -> EngineConnection? {
        connections.withLock { $0.all[id] }
    }

    /// Adds a connection, or returns the status to refuse it with if a limit is reached.
    func add(_ connection: EngineConnection) -> HTTPResponseStatus? {
        let limits = configuration.limits
        return connections.withLock { connections -> HTTPResponseStatus? in
            guard connections.all.count < limits.connections, !closing.isRaised else { return .serviceUnavailable }
            if let key = connection.unjoinedKey {
                let count = connections.unjoined[key] ?? 0
                guard count < limits.unjoinedPerKey else { return .tooManyRequests }
                connections.unjoined[key] = count + 1
            }
            connections.all[connection.id] = connection
            return nil
        }
    }

    /// Stops counting a connection as unjoined; idempotent.
    ///
    /// Called on the connection's loop.
    func admit(_ connection: EngineConnection) {
        guard let key = connection.unjoinedKey else { return }
        connection.unjoinedKey = nil
        connections.withLock { connections in
            let count = connections.unjoined[key] ?? 0
            connections.unjoined[key] = count > 1 ? count - 1 : nil
        }
    }

    func remove(_ connection: EngineConnection) {
        admit(connection)
        _ = connections.withLock { $0.all.removeValue(forKey: connection.id) }
    }

    func close() async {
        _ = closing.raise()
        let all = connections.withLock { Array($0.all.values) }
        for connection in all { connection.close(.serverShuttingDown) }
        // Waits until each loop has run the calls above; a loop that has shut down has no connections.
        for loop in loops.withLock({ $0 }) { try? await loop.eventLoop.submit {}.get() }
    }

    // MARK: Rooms

    func broadcast(_ target: SocketBroadcast, _ event: String, _ arguments: SocketArguments) {
        let packet = OutgoingPacket(event: event, arguments, namespace: target.namespace)
        for loop in loops.withLock({ $0 }) { loop.send(.broadcast(packet, target)) }
    }

    func forEach(_ target: SocketBroadcast, _ body: @escaping @Sendable (Socket) -> Void) {
        for loop in loops.withLock({ $0 }) {
            loop.perform { loop.forEachSocket(of: target, body) }
        }
    }
}
