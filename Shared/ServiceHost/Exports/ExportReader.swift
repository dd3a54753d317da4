package import NIOCore
import Wire

/// A streaming parser of a service's export, which passes content on as soon as it arrives.
package struct ExportReader {
    /// A parsed part of an export.
    package enum Part: Sendable {
        case begin(name: String, isPacked: Bool)
        case bytes(ByteBuffer)
    }

    private var waiting = ByteBuffer()
    private var isInFile = false
    /// Whether the end frame was received.
    package private(set) var isWhole = false

    package init() {}

    /// Parses more bytes and returns the parts that are now complete.
    ///
    /// - Parameter bytes: the next bytes of the export.
    /// - Returns: the complete parts in order.
    /// - Throws: `invalid_response` (502) if the bytes are not a valid export.
    package mutating func take(_ bytes: ByteBuffer) throws -> [Part] {
        waiting.writeImmutableBuffer(bytes)
        var parts: [Part] = []
        while let (kind, content) = try next() {
            switch kind {
            case .text, .packed:
                guard let name = String(validating: content.readableBytesView, as: UTF8.self) else {
                    throw Self.malformed
                }
                isInFile = true
                parts.append(.begin(name: name, isPacked: kind == .packed))
            case .bytes:
                guard isInFile else { throw Self.malformed }
                parts.append(.bytes(content))
            case .end:
                isWhole = true
            }
        }
        waiting.discardReadBytes()
        return parts
    }

    private mutating func next() throws -> (ExportFrame, ByteBuffer)? {
        guard !isWhole || waiting.readableBytes == 0 else { throw Self.malformed }
        guard let head = waiting.getBytes(at: waiting.readerIndex, length: ExportFrame.headerSize) else { return nil }
        let length = head[1...].reduce(0) { $0 << 8 | Int($1) }
        guard let kind = ExportFrame(rawValue: head[0]), length <= ExportFrame.limit else { throw Self.malformed }
        guard waiting.readableBytes >= ExportFrame.headerSize + length else { return nil }
        waiting.moveReaderIndex(forwardBy: ExportFrame.headerSize)
        guard let content = waiting.readSlice(length: length) else { return nil }
        return (kind, content)
    }

    private static let malformed = APIError(
        .badGateway,
        "invalid_response",
        "a service returned a malformed export"
    )
}
