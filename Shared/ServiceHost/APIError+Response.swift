import Foundation
package import HTTPTypes
package import Hummingbird
import NIOCore
import NIOHTTP1
import Postgres
import ServiceClient
package import Wire

extension APIError: HTTPResponseError {
    package var status: HTTPResponse.Status {
        HTTPResponse.Status(code: kind.status, reasonPhrase: kind.title)
    }

    package func response(from request: Request, context: some RequestContext) throws -> Response {
        problem(requestID: nil)
    }

    package func problem(requestID: String?) -> Response {
        let body = Problem(self, requestID: requestID).encoded()
        var headers: HTTPFields = [
            .contentType: Problem.mediaType, .contentLength: "\(body.count)", .cacheControl: "no-store",
        ]
        if let retryAfter { headers[.retryAfter] = "\(retryAfter)" }
        if let requestID { headers[.requestID] = requestID }
        return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: body)))
    }
}

extension APIError {
    /// The error that a client receives; nil for unexpected errors.
    package init?(known error: any Error) {
        switch error {
        case let error as APIError:
            self = error
        case let error as PostgresError where error.isUnavailable:
            self = .unavailable("the database")
        case let error as NIOTooManyBytesError:
            self =
                error.maxBytes.map { APIError.tooLarge(limit: $0) }
                ?? APIError(.tooLarge, "body_too_large", "the body is too large")
        case is HTTPParserError:
            // NIO throws this error if a client closes its connection before the body is complete.
            self = APIError(.invalid, "incomplete_body", "the connection ended before the body was complete")
        case let error as any HTTPResponseError:
            self.init(error.status)
        default:
            self.init(blobs: error)
        }
    }

    /// Converts the framework's own errors: an unknown route or a body that is too large.
    private init(_ status: HTTPResponse.Status) {
        let kind = Kind(rawValue: status.code) ?? (status.code < 500 ? .invalid : .internal)
        switch kind {
        case .notFound: self.init(.notFound, "not_found", "this path does not exist")
        case .tooLarge: self.init(.tooLarge, "body_too_large", "the body is too large")
        case .internal: self = .internal
        default: self.init(kind, "bad_request", "the request cannot be read")
        }
    }
}
