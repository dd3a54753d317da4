import NIOCore
import NIOHTTP1

extension ParsedRequestHead {
    /// The head that goes to `instance` in place of the client's.
    ///
    /// The client's own claims about where it came from are gone by now; these are ours.
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

    /// The fields of a trailer that may go on: none that frames, routes, identifies or authorises.
    static func trailers(_ trailers: HTTPHeaders?) -> HTTPHeaders? {
        guard let trailers else { return nil }
        return HTTPHeaders(trailers.filter { HeaderKind($0.name) == .endToEnd }.map { ($0.name, $0.value) })
    }
}
