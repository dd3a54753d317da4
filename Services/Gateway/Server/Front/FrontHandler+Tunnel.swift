import Metrics
import NIOCore
import NIOHTTP1

/// A connection that the service has agreed to make a WebSocket: from here on bytes go through unread.
extension FrontHandler {
    func becomeTunnel(_ head: HTTPResponseHead, upstream: UpstreamHandler) {
        guard let codec, let channel = context?.channel else { return }
        exchange.upstream = nil
        upstream.front = nil
        phase = .changing
        var (fields, _) = AnswerHead.fields(
            of: head,
            isBodyless: true,
            version: .http1_1,
            requestID: exchange.requestID,
            traceparent: exchange.traceparent
        )
        fields.append(("connection", "Upgrade"))
        fields.append(("upgrade", "websocket"))
        write(.head(HTTPResponseHead(version: .http1_1, status: .switchingProtocols, headers: HTTPHeaders(fields))))
        write(.end(nil))
        flush()
        finishLog()
        loop.counters.tunnels.increment()
        let tunnel = Tunnel(loop: loop, upstream: upstream)
        do {
            try upstream.becomeTunnel(tunnel.service)
            try codec.becomeTunnel(tunnel.client, in: channel, front: self)
        } catch {
            // Whichever end was in its place takes the other along.
            tunnel.cutOff()
            loop.unwatch(tunnel)
            upstream.close()
            close()
        }
    }
}
