import Foundation
import NIOCore

/// An HTTP response as received.
struct Response {
    let status: Int
    let fields: [String: String]
    let bytes: ByteBuffer

    var body: String { String(buffer: bytes) }
}

extension RawConnection {
    /// Sends a request and reads its response.
    func request(
        _ method: String,
        _ path: String,
        _ fields: [String: String] = [:],
        body: ByteBuffer? = nil
    ) async throws -> Response {
        try await send(method, path, fields, body: body)
        return try await response()
    }

    func send(_ method: String, _ path: String, _ fields: [String: String] = [:], body: ByteBuffer? = nil) async throws
    {
        var fields = fields
        fields["Host"] = fields["Host"] ?? "localhost"
        if let body { fields["Content-Length"] = fields["Content-Length"] ?? "\(body.readableBytes)" }
        var request = ByteBuffer(string: "\(method) \(path) HTTP/1.1\r\n")
        for (name, value) in fields { request.writeString("\(name): \(value)\r\n") }
        request.writeString("\r\n")
        if let body { request.writeImmutableBuffer(body) }
        try await send(request)
    }

    func response() async throws -> Response {
        let head = try await read(through: "\r\n\r\n")
        let lines = head.components(separatedBy: "\r\n")
        let status = try Int(lines[0].components(separatedBy: " ")[1]).unwrapped()
        var fields: [String: String] = [:]
        for line in lines.dropFirst() {
            let halves = line.components(separatedBy: ": ")
            if halves.count == 2 { fields[halves[0].lowercased()] = halves[1] }
        }
        let length = status == 101 || status == 204 ? 0 : try Int(fields["content-length"] ?? "").unwrapped()
        return Response(status: status, fields: fields, bytes: try await read(length))
    }
}
