import Foundation
import Multipart
import NIOCore
import NIOHTTP1
import Wire

/// A request to a network: its path below the network's base address, and its parameters from the query, form or JSON
/// body.
struct NetworkRequest: Sendable {
    struct File: Sendable {
        let name: String
        let fileName: String?
        let type: String
        let bytes: ByteBuffer
    }

    let method: HTTPMethod
    let headers: HTTPHeaders
    /// The network's address as the client uses it, such as `http://127.0.0.1:8090/mastodon`.
    let base: String
    /// The sandbox's address, without a path.
    let origin: String
    /// The requested address without the query, which signatures cover.
    let url: String
    let path: [String]
    /// The decoded fields of the query, in their order.
    let query: [(name: String, value: String)]
    /// The fields of a urlencoded or multipart form.
    private(set) var form: [(name: String, value: String)] = []
    private(set) var files: [File] = []
    private(set) var json: JSONValue?
    let body: ByteBuffer
    /// Whether a script rule wants an empty page that still names a next page.
    var returnsEmptyPage = false

    init(_ request: WebRequest, prefix: String, path: [String]) throws {
        method = request.method
        headers = request.headers
        origin = request.origin
        base = request.origin + prefix
        self.path = path
        let parts = request.uri.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        url = request.origin + (parts.first.map(String.init) ?? "")
        query = parts.count > 1 ? Self.fields(String(parts[1])) : []
        body = request.body
        try readBody()
    }

    private mutating func readBody() throws {
        guard body.readableBytes > 0, let type = headers.first(name: "content-type")?.lowercased() else { return }
        if type.hasPrefix("application/x-www-form-urlencoded") {
            form = Self.fields(String(buffer: body))
        } else if type.hasPrefix("application/json") {
            do {
                json = try JSONParser.parse(body.readableBytesView)
            } catch {
                throw APIError(.invalid, "bad_json", "the body is not valid JSON")
            }
        } else if type.hasPrefix("multipart/"), let header = headers.first(name: "content-type") {
            try readParts(header)
        }
    }

    private mutating func readParts(_ type: String) throws {
        let match = type.firstMatch(of: /boundary="?([^";]+)"?/)
        guard let boundary = match.map({ String($0.1) }), var parser = MultipartParser(boundary: boundary) else {
            throw APIError(.invalid, "bad_form", "the multipart content type has no valid boundary")
        }
        parser.feed(body)
        var part: MultipartPart?
        var content = ByteBuffer()
        while let event = try parser.next() {
            switch event {
            case .part(let next): (part, content) = (next, ByteBuffer())
            case .content(var bytes): content.writeBuffer(&bytes)
            case .endOfPart:
                guard let part else { continue }
                add(part, content)
            case .end: return
            }
        }
        throw APIError(.invalid, "bad_form", "the multipart body ends before its closing boundary")
    }

    private mutating func add(_ part: MultipartPart, _ content: ByteBuffer) {
        let type = part.contentType ?? "text/plain"
        if part.fileName == nil, !type.hasPrefix("image/"), !type.hasPrefix("video/") {
            form.append((part.name, String(buffer: content)))
            if type.hasPrefix("application/json") {
                // A part that is not valid JSON remains an ordinary field.
                json = try? JSONParser.parse(content.readableBytesView)
            }
        } else {
            files.append(File(name: part.name, fileName: part.fileName, type: type, bytes: content))
        }
    }

    // MARK: Parameters

    /// Returns a parameter of the query, the form, or the top level of a JSON body; nil when it is empty.
    subscript(name: String) -> String? {
        let all = query + form
        if let found = all.first(where: { $0.name == name })?.value { return found.isEmpty ? nil : found }
        return json?[name]?.plain
    }

    /// Returns all values of a parameter that may be repeated or named `name[]`.
    func all(_ name: String) -> [String] {
        let found = (query + form).filter { $0.name == name || $0.name == "\(name)[]" }.map(\.value)
        if !found.isEmpty { return found }
        if case .array(let values)? = json?[name] { return values.compactMap(\.plain) }
        return []
    }

    func whole(_ name: String) -> Int64? { self[name].flatMap(Int64.init) }

    func flag(_ name: String) -> Bool { ["true", "1", "on", "yes"].contains(self[name]?.lowercased() ?? "") }

    func limit(_ name: String = "limit", standard: Int, most: Int) -> Int {
        max(1, min(most, self[name].flatMap { Int($0) } ?? standard))
    }

    var bearer: String? {
        guard let field = headers.first(name: "authorization"), field.prefix(7).lowercased() == "bearer " else {
            return nil
        }
        return String(field.dropFirst(7))
    }

    /// The token of a `DPoP` authorization, which is bound to a key.
    var bound: String? {
        guard let field = headers.first(name: "authorization"), field.prefix(5).lowercased() == "dpop " else {
            return nil
        }
        return String(field.dropFirst(5))
    }

    var basic: (name: String, password: String)? {
        guard let field = headers.first(name: "authorization"), field.prefix(6).lowercased() == "basic ",
            let bytes = Data(base64Encoded: String(field.dropFirst(6)))
        else { return nil }
        let parts = String(decoding: bytes, as: UTF8.self).split(
            separator: ":",
            maxSplits: 1,
            omittingEmptySubsequences: false
        )
        return parts.count == 2 ? (String(parts[0]), String(parts[1])) : nil
    }

    /// Returns the fields of `application/x-www-form-urlencoded` text, in their order.
    static func fields(_ text: String) -> [(name: String, value: String)] {
        text.split(separator: "&").map { field in
            let parts = field.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let decoded = parts.map { part in
                let spaced = String(part.replacing("+", with: " "))
                return spaced.removingPercentEncoding ?? spaced
            }
            return (decoded[0], decoded.count > 1 ? decoded[1] : "")
        }
    }
}

extension JSONValue {
    /// The text form of a string, number or boolean, as in a form field.
    var plain: String? {
        switch self {
        case .string(let text): text
        case .integer(let whole): String(whole)
        case .number(let number): String(number)
        case .bool(let flag): String(flag)
        case .null, .array, .object: nil
        }
    }

    var values: [JSONValue] {
        guard case .array(let values) = self else { return [] }
        return values
    }
}
