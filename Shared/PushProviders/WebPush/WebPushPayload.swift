import Foundation

/// The JSON object that a page's service worker receives.
enum WebPushPayload {
    /// Returns nil if the payload exceeds the limit even without text.
    static func encode(_ message: PushMessage) -> [UInt8]? {
        TextTruncation.encode(message, into: WebPushEncryption.textLimit, encoded)
    }

    private static func encoded(_ message: PushMessage) -> [UInt8] {
        var payload = JSONObjectWriter()
        payload.add("id", message.id.uuidString.lowercased())
        if message.kind != .background {
            payload.add("title", message.title)
            payload.add("body", message.body)
            payload.add("image", message.imageURL)
            payload.add("sound", message.sound)
            payload.add("tag", message.collapseKey)
        }
        payload.add("badge", message.badge)
        var data = JSONObjectWriter()
        data.add(members: message.data)
        payload.add("data", data)
        return payload.encoded
    }
}
