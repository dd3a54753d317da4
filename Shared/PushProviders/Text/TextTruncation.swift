/// Makes a notification's text short enough for what its provider takes.
///
/// The body gives way first, then the title; each is cut between two characters as a reader counts them, so that no
/// letter loses its accent and no family a child. Data never gives way: an app that gets half of it gets none.
enum TextTruncation {
    private static let ellipsis = "…"

    /// Encodes a message with as much of its text as fits.
    ///
    /// - Parameters:
    ///   - message: the whole.
    ///   - limit: how many bytes there may be.
    ///   - encode: makes the payload; title and body are in it once each, as JSON strings.
    /// - Returns: the payload; nil where the message would lose all its text, or be too long without it.
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

    /// An alert of which no word is left would be an empty box on the screen.
    private static func isWorthSending(_ message: PushMessage) -> Bool {
        message.title?.isEmpty == false || message.body?.isEmpty == false
    }

    /// The longest beginning of a text that takes at least `excess` bytes of JSON less, with an ellipsis behind it.
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
