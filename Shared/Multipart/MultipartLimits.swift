/// The limits of a form; exceeding one throws a ``MultipartError``.
public struct MultipartLimits: Hashable, Sendable {
    /// The number of parts.
    public var parts: Int
    /// The bytes of a part's header fields.
    public var header: Int
    /// The bytes before the first part.
    public var preamble: Int

    /// Creates limits.
    public init(parts: Int = 64, header: Int = 8_192, preamble: Int = 1_024) {
        self.parts = parts
        self.header = header
        self.preamble = preamble
    }
}

/// The error of a body that is not an acceptable form.
public enum MultipartError: Error, Hashable, Sendable {
    /// The body violates RFC 7578; the text describes the problem, for people.
    case malformed(String)
    /// The body ends before the final delimiter.
    case truncated
    /// The form has more parts than the limit.
    case tooManyParts(limit: Int)
    /// A part's header has more bytes than the limit.
    case headerTooLarge(limit: Int)
}
