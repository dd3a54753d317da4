import Foundation
import NIOCore

/// Takes server-sent events apart while they come in (HTML Living Standard, section 9.2).
struct EventStreamReader {
    struct Event: Hashable, Sendable {
        var name: String
        var data: String
    }

    /// How many bytes an event may have before the stream is given up.
    private static let limit = 1_048_576

    private var waiting: [UInt8] = []
    private var name = ""
    private var data: [String] = []
    private var size = 0

    /// The events that end in these bytes.
    ///
    /// - Throws: `transient` where one goes on and on.
    mutating func feed(_ bytes: ByteBuffer) throws -> [Event] {
        waiting += bytes.readableBytesView
        var events: [Event] = []
        while let end = waiting.firstIndex(of: UInt8(ascii: "\n")) {
            var line = waiting[..<end]
            if line.last == UInt8(ascii: "\r") { line.removeLast() }
            size += line.count
            if let event = take(String(decoding: line, as: UTF8.self)) { events.append(event) }
            waiting.removeSubrange(...end)
        }
        guard size + waiting.count <= Self.limit else { throw NetworkError(.transient, "an event is too large") }
        return events
    }

    private mutating func take(_ line: String) -> Event? {
        guard !line.isEmpty else {
            defer { (name, data, size) = ("", [], 0) }
            return data.isEmpty ? nil : Event(name: name, data: data.joined(separator: "\n"))
        }
        let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let value = parts.count == 2 ? String(parts[1].drop { $0 == " " }) : ""
        switch parts[0] {
        case "event": name = value
        case "data": data.append(value)
        case "": size = max(0, size - line.utf8.count)  // a comment, which keeps the connection open
        default: break
        }
        return nil
    }
}
