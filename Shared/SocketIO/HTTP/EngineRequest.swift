import NIOHTTP1

/// What a request asks of Engine.IO, by its URL.
struct EngineRequest {
    let head: HTTPRequestHead
    let session: String?
    let revision: EngineRevision
    let isWebSocket: Bool
    let wantsBase64: Bool

    private static let none = EngineRevision.four

    /// Whether a request is one of the path's.
    static func isMeant(_ uri: String, path: String) -> Bool {
        let uri = uri.utf8
        if uri.starts(with: path.utf8) { return true }
        // Some clients leave the last slash out.
        let bare = path.utf8.dropLast()
        guard uri.starts(with: bare) else { return false }
        let rest = uri.dropFirst(bare.count).first
        return rest == nil || rest == UInt8(ascii: "?")
    }

    /// Checks what can be told from the request alone, in the order of the reference.
    init(_ head: HTTPRequestHead, configuration: SocketIOConfiguration) throws(EngineError) {
        let query = SocketQuery(head.uri.drop { $0 != "?" }.dropFirst())
        self.head = head
        session = query["sid"]
        wantsBase64 = query["b64"].map { $0 == "1" || $0 == "true" } ?? false
        let asksUpgrade = WebSocketHandshake.isAsked(head)
        switch query["transport"] {
        case "websocket": isWebSocket = true
        case "polling" where configuration.allowsPolling && !asksUpgrade: isWebSocket = false
        case "polling" where configuration.allowsPolling: throw .badRequest
        default: throw .unknownTransport
        }
        if session == nil {
            guard head.method == .GET else { throw .badHandshakeMethod }
            if isWebSocket && !asksUpgrade { throw .badRequest }
            guard let number = query["EIO"], number == "3" || number == "4",
                let revision = Int(number).flatMap(EngineRevision.init), configuration.revisions.contains(revision)
            else { throw .unsupportedRevision }
            self.revision = revision
        } else {
            // The session knows.
            revision = Self.none
        }
    }
}
