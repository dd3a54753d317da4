/// Texts and bytes, each preceded by its length: the encoding of requests and responses in a pipe.
package struct Fields: Sendable {
    package private(set) var bytes: [UInt8] = []
    private var position = 0

    package init() {}

    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    package mutating func append(_ field: [UInt8]) {
        bytes += Self.length(field.count)
        bytes += field
    }

    package mutating func append(_ text: String) { append(Array(text.utf8)) }

    package mutating func append(_ number: Int) { append(String(number)) }

    /// Returns the next field, or nil if the bytes are not a valid encoding.
    package mutating func next() -> [UInt8]? {
        guard let length = Self.length(bytes, at: position), length <= bytes.count - position - 4 else { return nil }
        defer { position += 4 + length }
        return Array(bytes[position + 4..<position + 4 + length])
    }

    package mutating func nextText() -> String? { next().flatMap { String(validating: $0, as: UTF8.self) } }

    package mutating func nextNumber() -> Int? { nextText().flatMap { Int($0) } }

    package var isAtEnd: Bool { position == bytes.count }

    fileprivate static func length(_ count: Int) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: count >> ($0 * 8)) }
    }

    fileprivate static func length(_ bytes: [UInt8], at position: Int) -> Int? {
        guard position + 4 <= bytes.count else { return nil }
        return (0..<4).reduce(0) { $0 | Int(bytes[position + $1]) << ($1 * 8) }
    }
}

/// Splits a stream into frames, each preceded by its length.
package struct Frames: Sendable {
    /// The maximum length of a frame, in bytes; real frames are much shorter.
    package static let maximumLength = 65_536

    private var buffer: [UInt8] = []

    /// A frame that is too long or invalid, which means that the worker is compromised.
    package struct MalformedFrame: Error {
        package init() {}
    }

    package init() {}

    package static func frame(_ content: [UInt8]) -> [UInt8] { Fields.length(content.count) + content }

    package mutating func append(_ piece: [UInt8]) { buffer += piece }

    package mutating func next() throws(MalformedFrame) -> [UInt8]? {
        guard let length = Fields.length(buffer, at: 0) else { return nil }
        guard length <= Self.maximumLength else { throw MalformedFrame() }
        guard buffer.count >= 4 + length else { return nil }
        defer { buffer.removeFirst(4 + length) }
        return Array(buffer[4..<4 + length])
    }
}
