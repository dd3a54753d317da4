/// Truncates the text of a notification to the provider's limit.
///
/// The body is truncated first, then the title. The cut is between grapheme clusters, so that accents and combined
/// emoji stay intact. Data is never truncated, because an app cannot use partial data.
enum TextTruncation {
    private static let ellipsis = "…"

    /// Encodes a message with as much text as fits.
    ///
    /// - Parameters:
    ///   - message: the complete message.
    ///   - limit: the maximum number of bytes.
    ///   - encode: returns the payload; it must contain title and body once each, as JSON strings.
    /// - Returns: the payload; nil if it exceeds the limit without text, or if no text is left.
    static func encode(_ message: PushMessage, into limit: Int, _ encode: (PushMessage) -> [UInt8]) -> [UInt8]? {
        var message = message
        let encoded = encode(message)
        guard encoded.count > limit else { return encoded }
        message.body = cut(message.body, by: encoded.count - limit)
        let withoutBody = encode(message)
        guard withoutBody.count > limit else { return isWorthSending(message) ? withoutBody : nil }
        message.title = cut(message.title, by: withoutBody.count - limit)
        let withoutText = encode(message)
        return withoutText.count <= limit && isWorthSending(message) ? withoutText : nil
    }

    /// An alert without text would be an empty box on the screen.
    private static func isWorthSending(_ message: PushMessage) -> Bool {
        message.title?.isEmpty == false || message.body?.isEmpty == false
    }

    /// Returns the longest prefix that is at least `excess` bytes of JSON shorter, with an ellipsis.
    static func cut(_ text: String?, by excess: Int) -> String? {
        guard let text else { return nil }
        var room = JSONStringEncoding.length(of: text) - excess - ellipsis.utf8.count
        var end = text.startIndex
        while end < text.endIndex {
            let next = text.index(after: end)
            room -= JSONStringEncoding.length(of: text[end..<next])
            guard room >= 0 else { break }
            end = next
        }
        return end == text.startIndex ? "" : text[..<end] + ellipsis
    }
}
