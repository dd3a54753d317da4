struct APNsPayload: Sendable {
    static let limit = 4_096
    static let voipLimit = 5_120

    let soundSuffix: String

    /// Returns nil if the payload exceeds the limit even without text.
    func encode(_ message: PushMessage) -> [UInt8]? {
        let limit = message.kind == .voip ? Self.voipLimit : Self.limit
        guard message.localizedTitle != nil || message.localizedBody != nil else {
            return TextTruncation.encode(message, into: limit, encoded)
        }
        let localized = encoded(message)
        guard localized.count > limit else { return localized }
        // The arguments of a localized text cannot be truncated, so the plain texts replace it.
        var plain = message
        (plain.localizedTitle, plain.localizedBody) = (nil, nil)
        return TextTruncation.encode(plain, into: limit, encoded)
    }

    private func encoded(_ message: PushMessage) -> [UInt8] {
        var payload = JSONObjectWriter()
        payload.add("aps", APNsDictionary.make(message, soundSuffix: soundSuffix, withText: true))
        if message.kind != .background, message.data["image"] == nil { payload.add("image", message.imageURL) }
        payload.add(members: message.data)
        return payload.encoded
    }
}

/// The dictionary `aps`, which FCM also forwards to APNs.
enum APNsDictionary {
    static func make(_ message: PushMessage, soundSuffix: String, withText: Bool) -> JSONObjectWriter {
        var aps = JSONObjectWriter()
        guard message.kind != .background else {
            aps.add("content-available", 1)
            return aps
        }
        if withText {
            var alert = JSONObjectWriter()
            if let title = message.localizedTitle {
                alert.add("title-loc-key", title.key)
                alert.add("title-loc-args", title.arguments)
            } else {
                alert.add("title", message.title)
            }
            if let body = message.localizedBody {
                alert.add("loc-key", body.key)
                alert.add("loc-args", body.arguments)
            } else {
                alert.add("body", message.body)
            }
            aps.add("alert", alert)
        }
        aps.add("badge", message.badge)
        aps.add("sound", message.sound.map { sound(named: $0, soundSuffix) })
        // Enables the app's service extension, which loads the image.
        if message.imageURL != nil { aps.add("mutable-content", 1) }
        return aps
    }

    private static func sound(named name: String, _ suffix: String) -> String {
        name == "default" || name.contains(".") ? name : name + suffix
    }
}
