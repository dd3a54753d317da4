import Foundation
import NIOCore
import NIOHTTP1
import Wire

struct WebRequest {
    let method: HTTPMethod
    /// The path and query as received.
    let uri: String
    /// The decoded path without the query.
    let path: String
    let query: [String: String]
    let headers: HTTPHeaders
    /// The sandbox's address as the client uses it, such as `http://127.0.0.1:8090`.
    let origin: String
    var body: ByteBuffer

    init(_ head: HTTPRequestHead, scheme: String, body: ByteBuffer = ByteBuffer()) {
        method = head.method
        uri = head.uri
        headers = head.headers
        self.body = body
        origin = "\(scheme)://\(head.headers.first(name: "host") ?? "localhost")"
        let parts = URLComponents(string: head.uri)
        path = parts?.path ?? head.uri
        query = Dictionary((parts?.queryItems ?? []).map { ($0.name, $0.value ?? "") }) { first, _ in first }
    }

    /// Returns an integer of the query.
    ///
    /// - Throws: `APIError` when the value is not an integer in the range.
    func number(_ name: String, default value: Int, in range: ClosedRange<Int>) throws -> Int {
        guard let text = query[name] else { return value }
        guard let number = Int(text), range.contains(number) else {
            throw APIError.invalid(name, "\(name) must be \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    func decode<Body: Decodable>(_ type: Body.Type) throws -> Body {
        try WireJSON.decode(type, from: body.readableBytesView)
    }
}
