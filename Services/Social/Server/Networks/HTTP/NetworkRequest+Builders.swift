import Foundation
import HTTPTypes
import Multipart
import NIOCore
import OAuth1
import Wire

/// Requests as networks want them: a query, a form, JSON, or a form with files.
extension NetworkRequest {
    /// With the fields behind the question mark; those without a value are left out.
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

    /// HTTP Basic (RFC 7617), as token endpoints want it of applications.
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
    /// With fields behind the question mark.
    func adding(_ query: [FormField]) -> String {
        guard !query.isEmpty else { return self }
        return "\(self)\(contains("?") ? "&" : "?")\(query.encoded)"
    }

    func adding(_ query: KeyValuePairs<String, String?>) -> String { adding([FormField](query)) }

    /// As one segment of a path, whatever is in it.
    var pathSegment: String { PercentEncoding.encode(self) }
}

extension [FormField] {
    /// Those that have a value.
    init(_ pairs: KeyValuePairs<String, String?>) {
        self = pairs.compactMap { pair in pair.value.map { FormField(pair.key, $0) } }
    }
}
