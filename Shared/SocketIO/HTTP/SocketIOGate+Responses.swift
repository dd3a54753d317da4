import NIOCore
import NIOHTTP1

/// Responses, and the timeouts of a connection.
extension SocketIOGate {
    /// Sends the response to a waiting request.
    func complete(_ exchange: PendingRequest, with response: EngineResponse) {
        guard case .waiting(let waiting, _, let head) = phase, waiting === exchange else { return }
        phase = .idle
        respond(response, to: head)
        processHeld()
    }

    func respond(_ response: EngineResponse, to head: HTTPRequestHead, adding fields: HTTPHeaders = [:]) {
        guard let context else { return }
        let isLast = response.isLast || isQuiescing || !head.isKeepAlive
        var headers = fields
        origins.addFields(to: &headers, for: head)
        if let type = response.contentType { headers.add(name: "Content-Type", value: type) }
        if response.status != .noContent {
            headers.add(name: "Content-Length", value: String(response.body.readableBytes))
            headers.add(name: "Cache-Control", value: "no-store")
        }
        if isLast { headers.add(name: "Connection", value: "close") }
        let version = HTTPResponseHead(version: head.version, status: response.status, headers: headers)
        context.write(wrapOutboundOut(.head(version)), promise: nil)
        if response.body.readableBytes > 0, head.method != .HEAD {
            context.write(wrapOutboundOut(.body(.byteBuffer(response.body))), promise: nil)
        }
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        switch phase {
        case .idle where isLast: context.close(promise: nil)
        case .idle where !hasNext: setTimeout(core.configuration.limits.idleTimeout)
        default: break
        }
    }

    /// Ends HTTP on the connection after the upgrade.
    func becameWebSocket() {
        phase = .over
        setTimeout(nil)
        if !hasNext { used?(.webSocket) }
    }

    /// Closes the connection after the timeout; nil cancels it.
    func setTimeout(_ timeout: Duration?) {
        timer?.cancel()
        timer = nil
        guard let timeout, let context else { return }
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(timeout)) { [weak self] in
            self?.timedOut()
        }
    }

    private func timedOut() {
        guard let context else { return }
        if case .receiving(let incoming) = phase {
            phase = .discarding
            respond(.status(.requestTimeout, isLast: true), to: incoming.head)
        }
        context.close(promise: nil)
    }
}
