import NIOCore
import NIOHTTP1

/// A request of polling that waits for its answer, which may come from another event loop.
final class PendingRequest: @unchecked Sendable {
    private let eventLoop: any EventLoop
    /// Touched on the loop alone, as the unchecked claim asks.
    private weak var gate: SocketIOGate?

    init(eventLoop: any EventLoop, gate: SocketIOGate) {
        self.eventLoop = eventLoop
        self.gate = gate
    }

    func answer(_ answer: EngineResponse) {
        if eventLoop.inEventLoop {
            gate?.answer(self, answer)
        } else {
            eventLoop.execute { self.gate?.answer(self, answer) }
        }
    }
}
