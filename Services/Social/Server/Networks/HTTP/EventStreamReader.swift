import Foundation
import NIOCore

/// Parses server-sent events as their bytes arrive (HTML Living Standard, section 9.2).
///
/// Each byte is scanned once, and the stored bytes are limited by ``limit``.
struct EventStreamReader {
    struct Event: Hashable, Sendable {
        var name: String
        var data: String
    }

    /// The maximum number of bytes between two events, including comments and blank lines; beyond it the stream fails.
    ///
    /// A comment of 8 bytes every 15 seconds, as Mastodon sends them, reaches the limit after five days.
    static let limit = 262_144

    /// The start of a line whose end has not arrived.
    private var line: [UInt8] = []
    private var name = ""
    private var data: [UInt8]?
    private var bytesSinceEvent = 0

    /// Returns the events that end in these bytes.
    ///
    /// - Throws: `transient` if more than ``limit`` bytes arrive without an event.
    mutating func feed(_ bytes: ByteBuffer) throws -> [Event] {
        var events: [Event] = []
        var rest = bytes.readableBytesView[...]
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            let part = rest[..<end]
            try count(part.count + 1)
            if line.isEmpty {
                if let event = process(part) { events.append(event) }
            } else {
                line += part
                if let event = process(line[...]) { events.append(event) }
                line.removeAll(keepingCapacity: true)
            }
            rest = rest[(end + 1)...]
        }
        try count(rest.count)
        line += rest
        return events
    }

    private mutating func count(_ bytes: Int) throws {
        bytesSinceEvent += bytes
        guard bytesSinceEvent <= Self.limit else {
            throw NetworkError(.transient, "the stream sent more than \(Self.limit) bytes without a complete event")
        }
    }

    /// Processes a line; returns an event if a blank line ends it.
    private mutating func process(_ line: some BidirectionalCollection<UInt8>) -> Event? {
        let end = line.last == UInt8(ascii: "\r") ? line.index(before: line.endIndex) : line.endIndex
        guard line.startIndex != end else {
            defer { (name, data) = ("", nil) }
            guard let data else { return nil }
            bytesSinceEvent = 0
            return Event(name: name, data: String(decoding: data, as: UTF8.self))
        }
        let content = line[..<end]
        let colon = content.firstIndex(of: UInt8(ascii: ":")) ?? end
        let value = content[colon...].dropFirst().drop { $0 == UInt8(ascii: " ") }
        switch String(decoding: content[..<colon], as: UTF8.self) {
        case "event": name = String(decoding: value, as: UTF8.self)
        case "data":
            if data == nil { data = [] } else { data?.append(UInt8(ascii: "\n")) }
            data?.append(contentsOf: value)
        default: break  // A comment, or a field that is not used here.
        }
        return nil
    }
}
