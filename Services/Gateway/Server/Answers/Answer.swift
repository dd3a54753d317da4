import Foundation
import NIOCore
import NIOHTTP1
import Wire

/// An answer of the gateway itself.
struct Answer: Sendable {
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

    static func json(_ status: HTTPResponseStatus, _ value: some Encodable) -> Answer {
        // Our own few types always encode.
        let data = (try? WireJSON.encoder().encode(value)) ?? Data("{}".utf8)
        return Answer(
            status,
            fields: [("content-type", "application/json"), ("cache-control", "no-store")],
            body: ByteBuffer(bytes: data)
        )
    }
}
