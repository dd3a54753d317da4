import Foundation
import SocialAPI
import Testing
import Wire

/// A response of a real server that a client's author recorded, in the format of `scripts/recorded-responses`.
struct Recording: Decodable, Sendable {
    /// The file in the source repository.
    var from: String
    var method: String
    var url: String
    var status: Int
    /// The header fields, with names in lower case.
    var headers: [String: String]
    var body: String

    /// The path without host and query.
    var path: String {
        let behind = url.drop { $0 != ":" }.dropFirst(3).drop { $0 != "/" }
        return String(behind.prefix { $0 != "?" })
    }
    var isSuccess: Bool { (200..<300).contains(status) }
    var origin: String { String(url.prefix(url.count - url.drop { $0 != ":" }.dropFirst(3).drop { $0 != "/" }.count)) }
}

/// A value of a network's API in granary's tests.
struct KnownValue: Decodable, Sendable {
    var from: String
    var network: String
    var body: String
}

enum Recordings {
    /// The folder of the recordings, set by `make recorded`.
    static let folder = ProcessInfo.processInfo.environment["RECORDED"]

    static let mastodon = Result<[Recording], any Error> { try lines(of: "mastodon") }
    static let reddit = Result<[Recording], any Error> { try lines(of: "reddit") }
    static let granary = Result<[KnownValue], any Error> { try lines(of: "granary") }

    private static func lines<Line: Decodable>(of name: String) throws -> [Line] {
        let file = try #require(folder) + "/\(name).jsonl"
        let data = try Data(contentsOf: URL(filePath: file))
        return try data.split(separator: UInt8(ascii: "\n")).map { try JSONDecoder().decode(Line.self, from: $0) }
    }

    /// Prints what was read and what is not recorded.
    static func say(_ what: String) { print("recorded: \(what)") }
}

extension RecordedNetwork {
    /// Adds a recorded response to a request.
    func answer(_ request: String, as recording: Recording, body: String? = nil) {
        answer(request, recording.status, body ?? recording.body, recording.headers)
    }
}
