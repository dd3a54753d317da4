public import NIOCore

/// A reader of a form's parts from a stream of buffers, at the caller's pace.
///
/// ```swift
/// var reader = MultipartReader(parser, body)
/// while let part = try await reader.nextPart() {
///     while let bytes = try await reader.nextContent() { … }
/// }
/// ```
///
/// The reader requests at most one buffer ahead from the stream.
public struct MultipartReader<Body: AsyncSequence> where Body.Element == ByteBuffer {
    private var parser: MultipartParser
    private var body: Body.AsyncIterator
    private var isInPart = false
    private var isOver = false

    /// Creates a reader of a body.
    public init(_ parser: MultipartParser, _ body: Body) {
        self.parser = parser
        self.body = body.makeAsyncIterator()
    }

    /// Returns the next part, skipping the rest of the current one; nil at the end of the form.
    ///
    /// - Throws: ``MultipartError``, or an error of the stream.
    public mutating func nextPart() async throws -> MultipartPart? {
        while try await nextContent() != nil {}
        guard case .part(let part) = try await nextEvent() else { return nil }
        isInPart = true
        return part
    }

    /// Returns the next bytes of the current part; nil at its end.
    ///
    /// - Throws: ``MultipartError``, or an error of the stream.
    public mutating func nextContent() async throws -> ByteBuffer? {
        guard isInPart else { return nil }
        guard case .content(let bytes) = try await nextEvent() else {
            isInPart = false
            return nil
        }
        return bytes
    }

    /// Returns nil after the end of the form.
    private mutating func nextEvent() async throws -> MultipartParser.Event? {
        guard !isOver else { return nil }
        while true {
            if let event = try parser.next() {
                isOver = event == .end
                return event
            }
            guard let bytes = try await body.next() else {
                try parser.finish()
                return nil
            }
            parser.feed(bytes)
        }
    }
}
