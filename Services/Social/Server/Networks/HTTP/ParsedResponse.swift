import HTTPTypes
import NIOCore
import Wire

/// A network's response, parsed as JSON if possible.
struct ParsedResponse: Sendable {
    let status: Int
    let headers: HTTPFields
    let body: ByteBuffer
    /// Nil if the body is empty or is not JSON, such as the HTML of a proxy.
    let json: JSONValue?
    /// The limits in the response; see `NetworkErrorMapping`.
    var budget: Budget?

    init(_ response: NetworkResponse) {
        status = response.status
        headers = response.headers
        body = response.body
        // The error is ignored: the status, or the code that needs the JSON, reports it.
        json = try? JSONParser.parse(response.body.readableBytesView, repairing: true)
    }

    var text: String { String(buffer: body) }
    var isSuccess: Bool { (200..<300).contains(status) }

    func header(_ name: String) -> String? { HTTPField.Name(name).flatMap { headers[$0] } }
}
