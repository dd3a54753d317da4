import Foundation

/// One HTTP message as it was on the wire, parsed without corrections.
struct RawMessage: Sendable {
    var startLine: String
    var fields: [(name: String, value: String)]
    var body: [UInt8] = []
    var trailers: [(name: String, value: String)] = []

    var status: Int { Int(startLine.split(separator: " ").dropFirst().first ?? "") ?? 0 }
    var method: String { String(startLine.split(separator: " ").first ?? "") }
    var target: String { String(startLine.split(separator: " ").dropFirst().first ?? "") }
    var text: String { String(decoding: body, as: UTF8.self) }

    subscript(name: String) -> [String] {
        fields.filter { $0.name.lowercased() == name }.map(\.value)
    }

    /// The `code` of a problem document.
    var code: String? {
        struct Problem: Decodable { let code: String }
        return (try? JSONDecoder().decode(Problem.self, from: Data(body)))?.code
    }

    /// Parses a message from text, such as the request in the body of an echoing service's response.
    init(parsing text: String) {
        let parts = text.components(separatedBy: "\r\n\r\n")
        let lines = parts[0].components(separatedBy: "\r\n")
        startLine = lines[0]
        fields = lines.dropFirst().map(Self.field)
        body = Array(parts.dropFirst().joined(separator: "\r\n\r\n").utf8)
    }

    var head: String {
        ([startLine] + fields.map { "\($0.name): \($0.value)" }).joined(separator: "\r\n")
    }

    static func field(_ line: String) -> (name: String, value: String) {
        guard let colon = line.firstIndex(of: ":") else { return (line, "") }
        return (String(line[..<colon]), line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces))
    }
}

struct WireError: Error {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
