package import HTTPTypes
import Testing

/// A request that a service rejects, with the expected status and the invalid field.
package struct BadRequest: Sendable, CustomTestStringConvertible {
    package let method: HTTPRequest.Method
    package let path: String
    package let body: String?
    package let status: Int
    package let field: String?

    package init(_ method: HTTPRequest.Method, _ path: String, _ body: String?, _ status: Int, _ field: String?) {
        self.method = method
        self.path = path
        self.body = body
        self.status = status
        self.field = field
    }

    package var testDescription: String { "\(method) \(path) \(body?.prefix(60) ?? "")" }
}
