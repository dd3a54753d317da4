import NIOCore

/// The acknowledgements that a socket waits for.
///
/// Used only on its event loop.
final class PendingAcknowledgements {
    typealias Body = @Sendable (Result<SocketArguments, AcknowledgementError>) -> Void

    private struct Awaited {
        let body: Body
        let timer: Scheduled<Void>
    }

    private let loop: EngineLoop
    private var awaited: [UInt64: Awaited] = [:]
    private var next: UInt64 = 0

    init(loop: EngineLoop) {
        self.loop = loop
    }

    var count: Int { awaited.count }

    func add(_ timeout: Duration, _ body: @escaping Body) -> UInt64 {
        let id = next
        next += 1
        let timer = loop.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(timeout)) { [weak self] in
            guard let self, let pending = awaited.removeValue(forKey: id) else { return }
            loop.exclusively { pending.body(.failure(.timeout)) }
        }
        awaited[id] = Awaited(body: body, timer: timer)
        return id
    }

    /// Removes and returns a callback; nil if none waits for this acknowledgement.
    func remove(_ id: UInt64) -> Body? {
        guard let pending = awaited.removeValue(forKey: id) else { return nil }
        pending.timer.cancel()
        return pending.body
    }

    func failAll() {
        let all = awaited
        awaited = [:]
        for pending in all.values {
            pending.timer.cancel()
            pending.body(.failure(.disconnected))
        }
    }
}
