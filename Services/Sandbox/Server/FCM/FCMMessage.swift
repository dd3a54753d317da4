import Wire

/// A valid message of FCM's v1 API.
struct FCMMessage {
    /// The registration token, or another target: `/topics/…`, a condition, or an installation id.
    let target: String
    let content: JSONValue
    let isOnlyValidated: Bool

    private static let limit = 4_096
    private static let topicLimit = 2_048
    private static let longestTTL = 2_419_200.0
    private static let fields: Set<String> = [
        "name", "data", "notification", "android", "webpush", "apns", "fcm_options", "token", "topic", "condition",
        "fid",
    ]
    private static let androidFields: Set<String> = [
        "collapse_key", "priority", "ttl", "restricted_package_name", "data", "notification", "fcm_options",
        "direct_boot_ok", "bandwidth_constrained_ok", "restricted_satellite_ok",
    ]
    private static let apnsFields: Set<String> = ["headers", "payload", "fcm_options", "live_activity_token"]
    private static let webpushFields: Set<String> = ["headers", "data", "notification", "fcm_options"]

    /// - Throws: `FCMError` with FCM's own texts.
    init(_ body: some Sequence<UInt8>) throws(FCMError) {
        let request: JSONValue
        do throws(JSONParser.SyntaxError) {
            request = try JSONParser.parse(body)
        } catch {
            throw .malformed("", "Parsing terminated before end of input.")
        }
        try Self.check(request, "", only: ["message", "validate_only"])
        guard let message = request["message"] else { throw .invalid("message", "Message is required.") }
        try Self.check(message, "message", only: Self.fields)
        content = message
        isOnlyValidated = request["validate_only"] == .bool(true)
        target = try Self.target(of: message)
        try Self.checkNotification(message["notification"])
        try Self.checkData(message["data"], "message.data")
        try Self.checkAndroid(message["android"])
        try Self.checkApple(message["apns"])
        try Self.checkWebPush(message["webpush"])
        try Self.checkSize(of: message, limit: message["token"] == nil ? Self.topicLimit : Self.limit)
    }

    /// Roost's id of the message, which identifies a repetition.
    ///
    /// FCM itself has no such id.
    var id: String? { content["data"]?["id"]?.text }

    private static func target(of message: JSONValue) throws(FCMError) -> String {
        let targets = ["token", "topic", "condition", "fid"].filter { message[$0] != nil }
        guard targets.count == 1, let kind = targets.first, let target = message[kind]?.text, !target.isEmpty else {
            throw .invalid("message", "Exactly one of token, topic, condition or fid is required.")
        }
        let isToken = target.utf8.allSatisfy { Base64URL.isDigit($0) || $0 == UInt8(ascii: ":") }
        if kind == "token", !isToken || target.utf8.count > 4_096 {
            throw .invalid("message.token", "The registration token is not a valid FCM registration token")
        }
        return kind == "topic" ? "/topics/\(target)" : target
    }

    // MARK: Parts

    private static func checkNotification(_ notification: JSONValue?) throws(FCMError) {
        guard let notification else { return }
        try check(notification, "message.notification", only: ["title", "body", "image"])
        try checkStrings(notification, "message.notification")
    }

    private static func checkData(_ data: JSONValue?, _ path: String) throws(FCMError) {
        guard let data else { return }
        try checkStrings(data, path)
        guard case .object(let fields) = data else { return }
        for name in fields.keys.sorted() {
            let isReserved =
                name == "from" || name == "message_type" || name.hasPrefix("google.") || name.hasPrefix("gcm.")
            if isReserved { throw .invalid(path, "Invalid data payload key: \(name)") }
        }
    }

    private static func checkAndroid(_ android: JSONValue?) throws(FCMError) {
        guard let android else { return }
        try check(android, "message.android", only: androidFields)
        try checkData(android["data"], "message.android.data")
        if let priority = android["priority"], !["NORMAL", "HIGH"].contains(priority.text?.uppercased()) {
            throw .malformed("message.android.priority", "Invalid value at 'message.android.priority' (TYPE_ENUM)")
        }
        guard let ttl = android["ttl"] else { return }
        let path = "message.android.ttl"
        guard let text = ttl.text, text.hasSuffix("s"), let seconds = Double(text.dropLast()), seconds.isFinite else {
            throw .malformed(path, "Invalid value at '\(path)' (type.googleapis.com/google.protobuf.Duration)")
        }
        guard 0...longestTTL ~= seconds else {
            throw .invalid(path, "TTL must be non-negative and at most 2419200 seconds.")
        }
    }

    private static func checkApple(_ apns: JSONValue?) throws(FCMError) {
        guard let apns else { return }
        try check(apns, "message.apns", only: apnsFields)
        if let headers = apns["headers"] { try checkStrings(headers, "message.apns.headers") }
        if let payload = apns["payload"] { try check(payload, "message.apns.payload", only: nil) }
        let priority = apns["headers"]?["apns-priority"]?.text
        if let priority, !["1", "5", "10"].contains(priority) {
            throw .invalid("message.apns.headers[apns-priority]", "Invalid apns-priority: \(priority)")
        }
        // FCM forwards these headers, and APNs rejects them later: the notification would be lost without an error.
        if apns["headers"]?["apns-push-type"]?.text == "background", let priority, priority != "5" {
            throw .invalid("message.apns.headers[apns-priority]", "Background notifications have priority 5")
        }
    }

    private static func checkWebPush(_ webpush: JSONValue?) throws(FCMError) {
        guard let webpush else { return }
        try check(webpush, "message.webpush", only: webpushFields)
        if let headers = webpush["headers"] { try checkStrings(headers, "message.webpush.headers") }
        try checkData(webpush["data"], "message.webpush.data")
    }

    /// Checks the size as devices receive the message: names and values of the data and of the notification.
    private static func checkSize(of message: JSONValue, limit: Int) throws(FCMError) {
        var size = 0
        for part in [message["data"], message["notification"], message["android"]?["data"]] {
            guard case .object(let fields)? = part else { continue }
            for (name, value) in fields { size += name.utf8.count + (value.text?.utf8.count ?? 0) }
        }
        // Encoding a parsed object cannot fail.
        if let payload = message["apns"]?["payload"], let bytes = try? payload.compact() {
            size = max(size, bytes.count)
        }
        guard size <= limit else {
            throw .invalid("message", "Message payload size is \(size) bytes, and may be \(limit).")
        }
    }

    // MARK: Shapes

    /// Checks that a value is an object, and that it has only these fields when `allowed` is not nil.
    private static func check(_ value: JSONValue, _ path: String, only allowed: Set<String>?) throws(FCMError) {
        guard case .object(let fields) = value else {
            throw .malformed(path, "Invalid value at '\(path)', must be an object.")
        }
        guard let allowed, let unknown = fields.keys.sorted().first(where: { !allowed.contains($0) }) else { return }
        throw .malformed(path, "Unknown name \"\(unknown)\" at '\(path)': Cannot find field.")
    }

    private static func checkStrings(_ value: JSONValue, _ path: String) throws(FCMError) {
        try check(value, path, only: nil)
        guard case .object(let fields) = value else { return }
        for (name, value) in fields.sorted(by: { $0.key < $1.key }) where value.text == nil {
            throw .malformed("\(path)[\(name)]", "Invalid value at '\(path)[\(name)].value' (TYPE_STRING)")
        }
    }
}
