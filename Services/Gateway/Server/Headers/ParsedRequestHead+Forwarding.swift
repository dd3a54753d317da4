import NIOCore
import NIOHTTP1

extension ParsedRequestHead {
    /// Returns the head that is sent to `instance` instead of the client's.
    ///
    /// The client's own forwarding fields have been removed; the gateway adds its own.
    func head(
        replacing head: HTTPRequestHead,
        target: String? = nil,
        to instance: UpstreamInstance,
        from origin: Origin,
        requestID: String,
        traceparent: String,
        keepsCORS: Bool = false
    ) -> HTTPRequestHead {
        var fields = keepsCORS ? forwarded + corsRequestFields : forwarded
        fields.append(("host", instance.authority))
        fields.append(("x-forwarded-for", origin.address))
        fields.append(("x-forwarded-proto", origin.scheme))
        if let host = origin.host ?? host { fields.append(("x-forwarded-host", host)) }
        fields.append(("x-request-id", requestID))
        fields.append(("traceparent", traceparent))
        fields.append(("x-roost-instance", instance.tag))
        switch framing {
        case .none: break
        case .length(let length): fields.append(("content-length", String(length)))
        case .chunked: fields.append(("transfer-encoding", "chunked"))
        }
        if wantsWebSocket {
            fields.append(("connection", "Upgrade"))
            fields.append(("upgrade", "websocket"))
        }
        return HTTPRequestHead(
            version: .http1_1,
            method: head.method,
            uri: target ?? head.uri,
            headers: HTTPHeaders(fields)
        )
    }

    /// Returns the trailer fields that may be forwarded: none that frames, routes, identifies or authorises.
    static func trailers(_ trailers: HTTPHeaders?) -> HTTPHeaders? {
        guard let trailers else { return nil }
        return HTTPHeaders(trailers.filter { HeaderKind($0.name) == .endToEnd }.map { ($0.name, $0.value) })
    }
}
