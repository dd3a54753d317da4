/// Makes a notification's text short enough for what its provider takes.
///
/// The body gives way first, then the title; each is cut between two characters as a reader counts them, so that no
/// letter loses its accent and no family a child. Data never gives way: an app that gets half of it gets none.
enum TextFit {
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
        let whole = encode(message)
        guard whole.count > limit else { return whole }
        message.body = cut(message.body, by: whole.count - limit)
        let bodiless = encode(message)
        guard bodiless.count > limit else { return isWorthSending(message) ? bodiless : nil }
        message.title = cut(message.title, by: bodiless.count - limit)
        let bare = encode(message)
        return bare.count <= limit && isWorthSending(message) ? bare : nil
    }

    /// An alert of which no word is left would be an empty box on the screen.
    private static func isWorthSending(_ message: PushMessage) -> Bool {
        message.title?.isEmpty == false || message.body?.isEmpty == false
    }

    /// The longest beginning of a text that takes at least `excess` bytes of JSON less, with an ellipsis behind it.
    static func cut(_ text: String?, by excess: Int) -> String? {
        guard let text else { return nil }
        var room = JSONText.length(of: text) - excess - ellipsis.utf8.count
        var end = text.startIndex
        while end < text.endIndex {
            let next = text.index(after: end)
            room -= JSONText.length(of: text[end..<next])
            guard room >= 0 else { break }
            end = next
        }
        return end == text.startIndex ? "" : text[..<end] + ellipsis
    }
}
