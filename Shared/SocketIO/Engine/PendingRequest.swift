import NIOCore
import NIOHTTP1

/// A polling request that waits for its response, which may come from another event loop.
final class PendingRequest: @unchecked Sendable {
    private let eventLoop: any EventLoop
    /// Used only on `eventLoop`, which makes the unchecked conformance correct.
    private weak var gate: SocketIOGate?

    init(eventLoop: any EventLoop, gate: SocketIOGate) {
        self.eventLoop = eventLoop
        self.gate = gate
    }

    func respond(_ response: EngineResponse) {
        if eventLoop.inEventLoop {
            gate?.complete(self, with: response)
        } else {
            eventLoop.execute { self.gate?.complete(self, with: response) }
        }
    }
}
