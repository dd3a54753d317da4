import Foundation
import NIOCore
import NIOHTTP1
import Wire

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

enum ResponseAction {
    case response(WebResponse, after: TimeAmount? = nil)
    /// Long polling: responds when there are notifications or the time is over.
    case notifications(after: Int, limit: Int, wait: TimeAmount)
    case stream(after: Int)
    /// A response that requires an asynchronous call, such as a webhook challenge.
    case later(@Sendable () async -> WebResponse)
    case live(EventStream)
    /// The events of a network, over a WebSocket.
    case socket(LiveSocket)
    /// Sends the head and half of the body, then closes the connection.
    case cut(WebResponse, after: TimeAmount? = nil)
    case silence
    case reset(after: TimeAmount? = nil)
}

extension ScriptRule {
    var pause: TimeAmount? { delay.map { .milliseconds(Int64($0 * 1_000)) } }

    /// Returns the reaction that the rule demands.
    ///
    /// A response is created by the service.
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
