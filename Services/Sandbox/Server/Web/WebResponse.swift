import Foundation
import NIOCore
import NIOHTTP1
import Wire

/// An answer in HTTP/1.1.
struct WebResponse: Sendable {
    var status: HTTPResponseStatus
    var headers: HTTPHeaders = [:]
    var body = ByteBuffer()

    init(_ status: HTTPResponseStatus, headers: HTTPHeaders = [:], body: ByteBuffer = ByteBuffer()) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    static func json(_ value: some Encodable, status: HTTPResponseStatus = .ok) throws -> WebResponse {
        let body = try WireJSON.encoder().encode(value)
        return WebResponse(status, headers: ["content-type": "application/json"], body: ByteBuffer(bytes: body))
    }

    static func text(_ text: String, status: HTTPResponseStatus = .ok, type: String = "text/plain") -> WebResponse {
        WebResponse(status, headers: ["content-type": "\(type); charset=utf-8"], body: ByteBuffer(string: text))
    }

    static func problem(_ error: APIError) -> WebResponse {
        WebResponse(
            HTTPResponseStatus(statusCode: error.kind.status),
            headers: ["content-type": Problem.mediaType],
            body: ByteBuffer(bytes: Problem(error, requestID: nil).encoded())
        )
    }
}

/// What is done about a request.
enum ResponseAction {
    case response(WebResponse, after: TimeAmount? = nil)
    /// Notifications, once there are some or the time is up.
    case notifications(after: Int, limit: Int, wait: TimeAmount)
    /// Notifications as they come, as server-sent events.
    case stream(after: Int)
    /// An answer that takes asking somebody else first.
    case later(@Sendable () async -> WebResponse)
    /// What a network has to say, as it happens.
    case live(EventStream)
    /// The same over a WebSocket.
    case socket(LiveSocket)
    /// The head of an answer and half of its body; then the connection is closed.
    case cut(WebResponse, after: TimeAmount? = nil)
    /// No answer, ever.
    case silence
    /// The connection is closed instead.
    case reset(after: TimeAmount? = nil)
}

extension ScriptRule {
    var pause: TimeAmount? { delay.map { .milliseconds(Int64($0 * 1_000)) } }

    /// What the rule has done, where it says an answer of the service's own making.
    func reply(_ response: () -> WebResponse) -> ResponseAction {
        switch behaviour {
        case .silence: return .silence
        case .reset, .goaway: return .reset(after: pause)
        case .response, .html, .cut, .malformed, .large, .empty, .expire:
            var response = response()
            if let retryAfter { response.headers.replaceOrAdd(name: "retry-after", value: String(retryAfter)) }
            return .response(response, after: pause)
        }
    }
}
