import HTTPTypes
import NIOCore
import Wire

/// What a network answered, read as JSON where it is.
struct ParsedResponse: Sendable {
    let status: Int
    let headers: HTTPFields
    let body: ByteBuffer
    /// Nil where the body is empty or is something else, as the HTML of a proxy on the way.
    let json: JSONValue?
    /// What the network said of its limits; see `NetworkErrorMapping`.
    var budget: Budget?

    init(_ response: NetworkResponse) {
        status = response.status
        headers = response.headers
        body = response.body
        // What is not JSON is told by the status, or by who needs the JSON.
        json = try? JSONParser.parse(response.body.readableBytesView, repairing: true)
    }

    var text: String { String(buffer: body) }
    var isSuccess: Bool { (200..<300).contains(status) }

    func header(_ name: String) -> String? { HTTPField.Name(name).flatMap { headers[$0] } }
}
