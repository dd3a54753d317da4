import NIOCore
import NIOHTTP1

/// An Engine.IO error with its code and message.
enum EngineError: Int, Error {
    case unknownTransport = 0
    case unknownSession = 1
    case badHandshakeMethod = 2
    case badRequest = 3
    case forbidden = 4
    case unsupportedRevision = 5

    var message: String {
        switch self {
        case .unknownTransport: "Transport unknown"
        case .unknownSession: "Session ID unknown"
        case .badHandshakeMethod: "Bad handshake method"
        case .badRequest: "Bad request"
        case .forbidden: "Forbidden"
        case .unsupportedRevision: "Unsupported protocol version"
        }
    }
}

/// The response to a request.
struct EngineResponse: Sendable {
    var status: HTTPResponseStatus
    var contentType: String?
    var body: ByteBuffer
    /// Whether the HTTP connection is closed after the response.
    var isLast = false

    static let ok = EngineResponse(status: .ok, contentType: "text/html", body: ByteBuffer(string: "ok"))

    static func error(_ error: EngineError) -> EngineResponse {
        EngineResponse(
            status: error == .forbidden ? .forbidden : .badRequest,
            contentType: "application/json",
            body: ByteBuffer(string: #"{"code":\#(error.rawValue),"message":"\#(error.message)"}"#)
        )
    }

    /// The response to a refused WebSocket upgrade: plain text, and the connection closes.
    static func refusedUpgrade(_ error: EngineError) -> EngineResponse {
        EngineResponse(
            status: error == .forbidden ? .forbidden : .badRequest,
            contentType: "text/html",
            body: ByteBuffer(string: error.message),
            isLast: true
        )
    }

    /// A response for conditions that the protocol does not define.
    static func status(_ status: HTTPResponseStatus, isLast: Bool = false) -> EngineResponse {
        EngineResponse(
            status: status,
            contentType: "text/plain; charset=UTF-8",
            body: ByteBuffer(string: status.reasonPhrase),
            isLast: isLast
        )
    }

    static func packets(_ packets: [PollingPacket], revision: EngineRevision, acceptsBinary: Bool) -> EngineResponse {
        let payload = PollingPayload.encode(packets, revision: revision, acceptsBinary: acceptsBinary)
        return EngineResponse(
            status: .ok,
            contentType: payload.isBinary ? "application/octet-stream" : "text/plain; charset=UTF-8",
            body: payload.body
        )
    }
}
