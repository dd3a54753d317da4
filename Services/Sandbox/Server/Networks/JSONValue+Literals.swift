import Foundation
import NIOCore
import NIOHTTP1
package import Wire

/// JSON literals for the responses of networks.
extension JSONValue: ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral, ExpressibleByNilLiteral
{
    package init(booleanLiteral value: Bool) { self = .bool(value) }
    package init(integerLiteral value: Int64) { self = .integer(value) }
    package init(floatLiteral value: Double) { self = .number(value) }
    package init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    package init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(Dictionary(elements) { _, last in last })
    }
    package init(nilLiteral: ()) { self = .null }
}

extension JSONValue {
    static func int(_ whole: Int) -> JSONValue { .integer(Int64(whole)) }

    static func text(_ text: String?) -> JSONValue { text.map(JSONValue.string) ?? .null }

    static func list(_ values: some Sequence<JSONValue>) -> JSONValue { .array(Array(values)) }

    func with(_ fields: [String: JSONValue]) -> JSONValue {
        guard case .object(let own) = self else { return self }
        return .object(own.merging(fields) { _, new in new })
    }
}

extension WebResponse {
    static func jsonValue(
        _ value: JSONValue,
        _ status: HTTPResponseStatus = .ok,
        headers: HTTPHeaders = [:]
    ) -> WebResponse {
        var headers = headers
        headers.replaceOrAdd(name: "content-type", value: "application/json; charset=utf-8")
        // Encoding a value of strings and numbers cannot fail.
        let body = (try? value.compact()) ?? Data()
        return WebResponse(status, headers: headers, body: ByteBuffer(bytes: body))
    }

    static func html(_ text: String, status: HTTPResponseStatus = .ok) -> WebResponse {
        WebResponse.text(text, status: status, type: "text/html")
    }

    static func redirect(to url: String) -> WebResponse { WebResponse(.found, headers: ["location": url]) }
}
