import Foundation
import HTTPTypes
import Multipart
import NIOCore
import OAuth1
import Wire

/// Builders of requests: with a query, a form, JSON, or a form with files.
extension NetworkRequest {
    /// Creates a GET request with a query; fields without a value are omitted.
    static func get(_ url: String, _ query: KeyValuePairs<String, String?> = [:]) -> NetworkRequest {
        NetworkRequest(.get, url.adding([FormField](query)))
    }

    static func form(
        _ url: String,
        _ fields: KeyValuePairs<String, String?>,
        method: HTTPRequest.Method = .post
    ) -> NetworkRequest {
        form(url, [FormField](fields), method: method)
    }

    static func form(_ url: String, _ fields: [FormField], method: HTTPRequest.Method = .post) -> NetworkRequest {
        var request = NetworkRequest(method, url, body: ByteBuffer(string: fields.encoded))
        request.headers[.contentType] = "application/x-www-form-urlencoded"
        return request
    }

    static func json(_ url: String, _ body: JSONValue, method: HTTPRequest.Method = .post) throws -> NetworkRequest {
        var request = NetworkRequest(method, url, body: ByteBuffer(bytes: try body.compact()))
        request.headers[.contentType] = "application/json"
        return request
    }

    static func multipart(_ url: String, _ form: consuming MultipartForm) -> NetworkRequest {
        let type = form.contentType
        var request = NetworkRequest(.post, url, body: form.finished())
        request.headers[.contentType] = type
        return request
    }

    func bearer(_ token: String) -> NetworkRequest {
        var request = self
        request.headers[.authorization] = "Bearer \(token)"
        return request
    }

    /// Adds HTTP Basic authentication (RFC 7617), with which applications authenticate at token endpoints.
    func basic(_ id: String, _ secret: String) -> NetworkRequest {
        var request = self
        request.headers[.authorization] = "Basic \(Data("\(id):\(secret)".utf8).base64EncodedString())"
        return request
    }

    func with(_ name: String, _ value: String) -> NetworkRequest {
        guard let name = HTTPField.Name(name) else { return self }
        var request = self
        request.headers[name] = value
        return request
    }
}

extension String {
    func adding(_ query: [FormField]) -> String {
        guard !query.isEmpty else { return self }
        return "\(self)\(contains("?") ? "&" : "?")\(query.encoded)"
    }

    func adding(_ query: KeyValuePairs<String, String?>) -> String { adding([FormField](query)) }

    /// The text as one segment of a path.
    var pathSegment: String { PercentEncoding.encode(self) }
}

extension [FormField] {
    /// Creates fields from the pairs that have a value.
    init(_ pairs: KeyValuePairs<String, String?>) {
        self = pairs.compactMap { pair in pair.value.map { FormField(pair.key, $0) } }
    }
}
