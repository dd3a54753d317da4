import Foundation
import SocialAPI
import Testing
import Wire

/// What a client's author has recorded of a real server, as `scripts/recorded-responses` lays it out.
struct Recording: Decodable, Sendable {
    /// The file in its source.
    var from: String
    var method: String
    var url: String
    var status: Int
    /// Names in lower case.
    var headers: [String: String]
    var body: String

    /// Without host and query.
    var path: String {
        let behind = url.drop { $0 != ":" }.dropFirst(3).drop { $0 != "/" }
        return String(behind.prefix { $0 != "?" })
    }
    var isSuccess: Bool { (200..<300).contains(status) }
    var origin: String { String(url.prefix(url.count - url.drop { $0 != ":" }.dropFirst(3).drop { $0 != "/" }.count)) }
}

/// A value of a network's API that granary's tests are made of.
struct KnownValue: Decodable, Sendable {
    var from: String
    var network: String
    var body: String
}

enum Recordings {
    /// Where they are; none but under `make recorded`.
    static let folder = ProcessInfo.processInfo.environment["RECORDED"]

    static let mastodon = Result<[Recording], any Error> { try lines(of: "mastodon") }
    static let reddit = Result<[Recording], any Error> { try lines(of: "reddit") }
    static let granary = Result<[KnownValue], any Error> { try lines(of: "granary") }

    private static func lines<Line: Decodable>(of name: String) throws -> [Line] {
        let file = try #require(folder) + "/\(name).jsonl"
        let data = try Data(contentsOf: URL(filePath: file))
        return try data.split(separator: UInt8(ascii: "\n")).map { try JSONDecoder().decode(Line.self, from: $0) }
    }

    /// For who reads the log: what was read, and what nobody has recorded.
    static func say(_ what: String) { print("recorded: \(what)") }
}

extension RecordedNetwork {
    /// Answers as the server did, to another request too.
    func answer(_ request: String, as recording: Recording, body: String? = nil) {
        answer(request, recording.status, body ?? recording.body, recording.headers)
    }
}
