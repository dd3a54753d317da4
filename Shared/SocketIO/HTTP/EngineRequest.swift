import NIOHTTP1

/// The Engine.IO parameters of a request's URL.
struct EngineRequest {
    let head: HTTPRequestHead
    let session: String?
    let revision: EngineRevision
    let isWebSocket: Bool
    let wantsBase64: Bool

    private static let none = EngineRevision.four

    /// Returns whether the request's path is the server's path.
    static func matches(_ uri: String, path: String) -> Bool {
        let uri = uri.utf8
        if uri.starts(with: path.utf8) { return true }
        // Some clients omit the trailing slash.
        let bare = path.utf8.dropLast()
        guard uri.starts(with: bare) else { return false }
        let rest = uri.dropFirst(bare.count).first
        return rest == nil || rest == UInt8(ascii: "?")
    }

    /// Validates the request on its own, in the order of the reference implementation.
    init(_ head: HTTPRequestHead, configuration: SocketIOConfiguration) throws(EngineError) {
        let query = SocketQuery(head.uri.drop { $0 != "?" }.dropFirst())
        self.head = head
        session = query["sid"]
        wantsBase64 = query["b64"].map { $0 == "1" || $0 == "true" } ?? false
        let requestsUpgrade = WebSocketHandshake.isRequested(head)
        switch query["transport"] {
        case "websocket": isWebSocket = true
        case "polling" where configuration.allowsPolling && !requestsUpgrade: isWebSocket = false
        case "polling" where configuration.allowsPolling: throw .badRequest
        default: throw .unknownTransport
        }
        if session == nil {
            guard head.method == .GET else { throw .badHandshakeMethod }
            if isWebSocket && !requestsUpgrade { throw .badRequest }
            guard let number = query["EIO"], number == "3" || number == "4",
                let revision = Int(number).flatMap(EngineRevision.init), configuration.revisions.contains(revision)
            else { throw .unsupportedRevision }
            self.revision = revision
        } else {
            // The session has its own revision.
            revision = Self.none
        }
    }
}
