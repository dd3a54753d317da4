import Metrics
import NIOCore
import NIOHTTP1

/// WebSocket tunnels: after the upgrade, the gateway forwards bytes without parsing them.
extension ProxyHandler {
    func becomeTunnel(_ head: HTTPResponseHead, upstream: UpstreamHandler) {
        guard let codec, let channel = context?.channel else { return }
        request.upstream = nil
        upstream.proxyHandler = nil
        phase = .changing
        var (fields, _) = ResponseHead.fields(
            of: head,
            isBodyless: true,
            version: .http1_1,
            requestID: request.requestID,
            traceparent: request.traceparent
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
            try codec.becomeTunnel(tunnel.client, in: channel, proxyHandler: self)
        } catch {
            // An end that was already installed closes the other end as well.
            tunnel.closeNow()
            loop.untrack(tunnel)
            upstream.close()
            close()
        }
    }
}
