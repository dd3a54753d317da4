package import Blobs
import Foundation
import Hummingbird
package import NIOCore
import Wire

/// A writer of a user's data as files of an export; each method returns when its bytes are sent, so nothing is
/// buffered.
package struct ExportWriter {
    private let sink: Sink

    init(_ writer: any ResponseBodyWriter) {
        sink = Sink(writer)
    }

    /// Writes a file with one value as JSON.
    package mutating func json(_ name: String, _ value: some Encodable) async throws {
        try await begin(name, .text)
        try await sink.send(.bytes, ByteBuffer(bytes: try WireJSON.encoder(sortedKeys: true).encode(value)))
    }

    /// Writes a file with a JSON array, page by page.
    ///
    /// - Parameters:
    ///   - name: the file's name.
    ///   - next: returns the page after a position (nil for the first page), and the position for the next call (nil
    ///     after the last page).
    /// - Throws: the error of `next`, or of the connection.
    package mutating func list<Position: Sendable>(
        _ name: String,
        _ next: (_ after: Position?) async throws -> (items: [any Encodable & Sendable], after: Position?)
    ) async throws {
        let encoder = WireJSON.encoder(sortedKeys: true)
        try await begin(name, .text)
        var separator = "[\n"
        var position: Position?
        repeat {
            let page = try await next(position)
            for thing in page.items {
                var line = ByteBuffer(string: separator)
                line.writeBytes(try encoder.encode(thing))
                try await sink.send(.bytes, line)
                separator = ",\n"
            }
            position = page.after
        } while position != nil
        try await sink.send(.bytes, ByteBuffer(string: separator == "[\n" ? "[]\n" : "\n]\n"))
    }

    /// Writes a file of bytes that are already compressed, such as a picture.
    package mutating func file(
        _ name: String,
        _ read: (_ piece: (ByteBuffer) async throws -> Void) async throws -> Void
    ) async throws {
        try await begin(name, .packed)
        let sink = sink
        try await read { piece in try await sink.send(.bytes, piece) }
    }

    /// Writes a blob as a file, or nothing if the blob was deleted meanwhile.
    package mutating func file(_ name: String, _ key: BlobKey, in blobs: any BlobStore) async throws {
        guard let blob = try await blobs.open(key) else { return }
        try await file(name) { piece in try await blob.read(0..<blob.size, piece) }
    }

    mutating func end() async throws {
        try await sink.send(.end, ByteBuffer())
        try await sink.finish()
    }

    private mutating func begin(_ name: String, _ kind: ExportFrame) async throws {
        try await sink.send(kind, ByteBuffer(string: name))
    }

    /// The destination of frames.
    private final class Sink {
        private var writer: any ResponseBodyWriter

        init(_ writer: any ResponseBodyWriter) {
            self.writer = writer
        }

        /// Sends content in one or more frames of at most ``ExportFrame/limit`` bytes.
        func send(_ kind: ExportFrame, _ bytes: ByteBuffer) async throws {
            var rest = bytes
            repeat {
                let part = rest.readSlice(length: min(rest.readableBytes, ExportFrame.limit)) ?? ByteBuffer()
                var frame = ByteBuffer()
                frame.reserveCapacity(ExportFrame.headerSize + part.readableBytes)
                frame.writeInteger(kind.rawValue)
                frame.writeInteger(UInt32(part.readableBytes))
                frame.writeImmutableBuffer(part)
                try await writer.write(frame)
            } while rest.readableBytes > 0
        }

        func finish() async throws { try await writer.finish(nil) }
    }
}
