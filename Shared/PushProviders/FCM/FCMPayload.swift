import Foundation

/// The body of a request to FCM, with the overrides for each platform.
struct FCMPayload: Sendable {
    /// The maximum bytes of `notification` and `data` together.
    static let limit = 4_096

    let soundSuffix: String

    /// Returns nil if the payload exceeds the limit even without text.
    func encode(_ message: PushMessage, to token: String, now: Date) -> [UInt8]? {
        if let fitting = fit(message, token, now) { return fitting }
        guard message.androidTitle != nil else { return nil }
        // Truncation covers only the common title, so the Android title is omitted.
        var plain = message
        plain.androidTitle = nil
        return fit(plain, token, now)
    }

    private func fit(_ message: PushMessage, _ token: String, _ now: Date) -> [UInt8]? {
        // FCM counts only the bytes that reach the device; the limit is raised by the rest.
        let overhead = encoded(message, token, now).count - counted(message)
        return TextTruncation.encode(message, into: Self.limit + overhead) { encoded($0, token, now) }
    }

    private func counted(_ message: PushMessage) -> Int {
        // An Android device receives this title in addition to the common title.
        let androidTitle = message.androidTitle.map(JSONStringEncoding.length(of:)) ?? 0
        return notification(message).encoded.count + androidTitle + data(message).encoded.count
    }

    private func encoded(_ message: PushMessage, _ token: String, _ now: Date) -> [UInt8] {
        var body = JSONObjectWriter()
        body.add("token", token)
        body.add("notification", notification(message))
        body.add("data", data(message))
        body.add("android", android(message, now))
        body.add("apns", apple(message, now))
        var request = JSONObjectWriter()
        request.add("message", body)
        return request.encoded
    }

    private func notification(_ message: PushMessage) -> JSONObjectWriter {
        var notification = JSONObjectWriter()
        guard message.kind != .background else { return notification }
        notification.add("title", message.title)
        notification.add("body", message.body)
        notification.add("image", message.imageURL)
        return notification
    }

    /// Returns `data` with all values as strings, because FCM accepts no other type.
    private func data(_ message: PushMessage) -> JSONObjectWriter {
        var data = JSONObjectWriter()
        if message.data["id"] == nil { data.add("id", message.id.uuidString.lowercased()) }
        for (name, value) in message.data.sorted(by: { $0.key < $1.key }) { data.add(name, value.string ?? value.text) }
        return data
    }

    private func android(_ message: PushMessage, _ now: Date) -> JSONObjectWriter {
        var android = JSONObjectWriter()
        android.add("collapse_key", message.collapseKey)
        android.add("priority", isUrgent(message) ? "HIGH" : "NORMAL")
        android.add("ttl", message.expires.map { "\(max(0, Int($0.timeIntervalSince(now))))s" })
        guard message.kind != .background else { return android }
        var notification = JSONObjectWriter()
        // Overrides the common title (FCM's AndroidNotification).
        notification.add("title", message.androidTitle)
        notification.add("sound", message.sound)
        notification.add("notification_count", message.badge.flatMap { $0 > 0 ? $0 : nil })
        notification.add("tag", message.collapseKey)
        android.add("notification", notification)
        return android
    }

    private func apple(_ message: PushMessage, _ now: Date) -> JSONObjectWriter {
        // FCM has no VoIP tokens, so a call becomes an alert.
        var message = message
        if isUrgent(message) { (message.kind, message.priority) = (.alert, .high) }
        let fields = APNsFields(message, now: now)
        var headers = JSONObjectWriter()
        headers.add("apns-push-type", fields.pushType)
        headers.add("apns-priority", fields.priority)
        headers.add("apns-expiration", fields.expiration)
        headers.add("apns-collapse-id", fields.collapseID)
        var payload = JSONObjectWriter()
        payload.add("aps", APNsDictionary.make(message, soundSuffix: soundSuffix, withText: false))
        var options = JSONObjectWriter()
        if message.kind != .background { options.add("image", message.imageURL) }
        var apple = JSONObjectWriter()
        apple.add("headers", headers)
        apple.add("payload", payload)
        apple.add("fcm_options", options)
        return apple
    }

    private func isUrgent(_ message: PushMessage) -> Bool {
        message.kind == .voip || (message.kind == .alert && message.priority == .high)
    }
}
