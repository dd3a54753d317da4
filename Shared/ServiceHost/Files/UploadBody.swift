package import Hummingbird
package import NIOCore
import Wire

/// A request's body as a stream that ends with an error if the body is incomplete.
///
/// A closed connection looks like the regular end of a chunked body or of a body without a length. The received bytes
/// are therefore compared with `Content-Length`.
package struct UploadBody: AsyncSequence {
    package typealias Element = ByteBuffer

    private let body: RequestBody
    private let length: Int?

    package init(_ request: Request) {
        body = request.body
        length = request.headers[.contentLength].flatMap { Int($0) }
    }

    package func makeAsyncIterator() -> Iterator { Iterator(body: body.makeAsyncIterator(), length: length) }

    package struct Iterator: AsyncIteratorProtocol {
        fileprivate var body: RequestBody.AsyncIterator
        fileprivate let length: Int?
        private var received = 0

        fileprivate init(body: RequestBody.AsyncIterator, length: Int?) {
            self.body = body
            self.length = length
        }

        package mutating func next() async throws -> ByteBuffer? {
            let bytes: ByteBuffer?
            do {
                bytes = try await body.next()
            } catch {
                throw Self.incomplete
            }
            received += bytes?.readableBytes ?? 0
            guard bytes != nil || length == nil || received == length else { throw Self.incomplete }
            return bytes
        }

        private static let incomplete = APIError(
            .invalid,
            "incomplete_body",
            "the connection closed before the body was complete"
        )
    }
}
