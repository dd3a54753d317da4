/// How much of a form is taken; what goes past it is a ``MultipartError``.
public struct MultipartLimits: Hashable, Sendable {
    /// How many parts there may be.
    public var parts: Int
    /// How many bytes the header fields of one part may have.
    public var header: Int
    /// How many bytes may stand before the first part.
    public var preamble: Int

    public init(parts: Int = 64, header: Int = 8_192, preamble: Int = 1_024) {
        self.parts = parts
        self.header = header
        self.preamble = preamble
    }
}

/// Why a body is not taken as a form.
public enum MultipartError: Error, Hashable, Sendable {
    /// It is not what RFC 7578 describes; the text says where, for a person.
    case malformed(String)
    /// It ends before its last delimiter.
    case truncated
    case tooManyParts(limit: Int)
    case headerTooLarge(limit: Int)
}
