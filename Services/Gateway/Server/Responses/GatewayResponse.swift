import Foundation
import NIOCore
import NIOHTTP1
import Wire

struct GatewayResponse: Sendable {
    var status: HTTPResponseStatus
    var fields: [(String, String)]
    var body: ByteBuffer

    init(_ status: HTTPResponseStatus, fields: [(String, String)] = [], body: ByteBuffer = ByteBuffer()) {
        self.status = status
        self.fields = fields
        self.body = body
    }

    init(problem error: APIError, requestID: String) {
        status = HTTPResponseStatus(statusCode: error.kind.status)
        fields = [("content-type", Problem.mediaType), ("cache-control", "no-store")]
        if let seconds = error.retryAfter { fields.append(("retry-after", String(seconds))) }
        body = ByteBuffer(bytes: Problem(error, requestID: requestID).encoded())
    }

    /// Engine.IO's error for an unknown session, after which clients start a new session.
    static let unknownSession = GatewayResponse(
        .badRequest,
        fields: [("content-type", "application/json"), ("cache-control", "no-store")],
        body: ByteBuffer(string: #"{"code":1,"message":"Session ID unknown"}"#)
    )

    static func json(_ status: HTTPResponseStatus, _ value: some Encodable) -> GatewayResponse {
        // The few types in use always encode.
        let data = (try? WireJSON.encoder().encode(value)) ?? Data("{}".utf8)
        return GatewayResponse(
            status,
            fields: [("content-type", "application/json"), ("cache-control", "no-store")],
            body: ByteBuffer(bytes: data)
        )
    }
}
