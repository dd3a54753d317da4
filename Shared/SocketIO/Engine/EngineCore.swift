import Locks
import NIOCore
import NIOHTTP1

/// What all connections of a server share.
final class EngineCore: Sendable {
    let configuration: SocketIOConfiguration
    let payloads: PayloadLedger
    private let connections = Lock<[String: EngineConnection]>([:])
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
            if let known = loops.first(where: { $0.eventLoop === eventLoop }) { return known }
            let made = EngineLoop(eventLoop: eventLoop, step: step)
            loops.append(made)
            return made
        }
    }

    /// How exactly deadlines are kept: to a twentieth, but no oftener than every 5 ms and no rarer than every 100.
    var step: TimeAmount {
        let shortest = min(TimeAmount(configuration.pingInterval), TimeAmount(configuration.pingTimeout))
        return max(.milliseconds(5), min(.milliseconds(100), .nanoseconds(shortest.nanoseconds / 20)))
    }

    // MARK: Connections

    var connectionCount: Int { connections.withLock { $0.count } }

    func connection(_ id: String) -> EngineConnection? {
        connections.withLock { $0[id] }
    }

    /// False if there are as many as there may be.
    func add(_ connection: EngineConnection) -> Bool {
        connections.withLock { connections in
            guard connections.count < configuration.limits.connections, !closing.isRaised else { return false }
            connections[connection.id] = connection
            return true
        }
    }

    func remove(_ connection: EngineConnection) {
        _ = connections.withLock { $0.removeValue(forKey: connection.id) }
    }

    func close() async {
        _ = closing.raise()
        let all = connections.withLock { Array($0.values) }
        for connection in all { connection.close(.serverShuttingDown) }
        // Done once each loop has come to it; one that has ended has nothing left to close.
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
