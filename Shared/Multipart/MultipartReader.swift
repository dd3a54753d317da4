public import NIOCore

/// Reads a form part by part out of a stream of buffers, at the reader's own pace.
///
/// ```swift
/// var reader = MultipartReader(parser, body)
/// while let part = try await reader.nextPart() {
///     while let bytes = try await reader.nextContent() { … }
/// }
/// ```
///
/// No more than one buffer is taken from the stream ahead of what was asked for.
public struct MultipartReader<Body: AsyncSequence> where Body.Element == ByteBuffer {
    private var parser: MultipartParser
    private var body: Body.AsyncIterator
    private var isInPart = false
    private var isOver = false

    public init(_ parser: MultipartParser, _ body: Body) {
        self.parser = parser
        self.body = body.makeAsyncIterator()
    }

    /// The next part, after skipping what is left of this one; nil at the end of the form.
    ///
    /// - Throws: ``MultipartError``, or what the stream throws.
    public mutating func nextPart() async throws -> MultipartPart? {
        while try await nextContent() != nil {}
        guard case .part(let part) = try await nextEvent() else { return nil }
        isInPart = true
        return part
    }

    /// The next bytes of the present part's content; nil at its end.
    ///
    /// - Throws: ``MultipartError``, or what the stream throws.
    public mutating func nextContent() async throws -> ByteBuffer? {
        guard isInPart else { return nil }
        guard case .content(let bytes) = try await nextEvent() else {
            isInPart = false
            return nil
        }
        return bytes
    }

    /// Nil once the form is over.
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
