import Foundation
import NIOCore
import NIOHTTP1
import Wire

/// A request in HTTP/1.1 with its body, taken apart.
struct WebRequest {
    let method: HTTPMethod
    /// As it was sent, path and query.
    let uri: String
    /// Without the query, and decoded.
    let path: String
    let query: [String: String]
    let headers: HTTPHeaders
    /// `http://127.0.0.1:8090`, as whoever asks knows the sandbox.
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

    /// A whole number of the query.
    ///
    /// - Throws: `APIError` for what is none of the range.
    func number(_ name: String, default value: Int, in range: ClosedRange<Int>) throws -> Int {
        guard let text = query[name] else { return value }
        guard let number = Int(text), range.contains(number) else {
            throw APIError.invalid(name, "\(name) is \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    func decode<Body: Decodable>(_ type: Body.Type) throws -> Body {
        try WireJSON.decode(type, from: body.readableBytesView)
    }
}
