import Foundation

/// What a page's service worker is given: a JSON object.
enum WebPushPayload {
    /// Nil where it is too long without any text.
    static func encode(_ message: PushMessage) -> [UInt8]? {
        TextFit.encode(message, into: WebPushEncryption.textLimit, whole)
    }

    private static func whole(_ message: PushMessage) -> [UInt8] {
        var payload = JSONObject()
        payload.add("id", message.id.uuidString.lowercased())
        if message.kind != .background {
            payload.add("title", message.title)
            payload.add("body", message.body)
            payload.add("image", message.imageURL)
            payload.add("sound", message.sound)
            payload.add("tag", message.collapseKey)
        }
        payload.add("badge", message.badge)
        var data = JSONObject()
        data.add(members: message.data)
        payload.add("data", data)
        return payload.whole
    }
}
