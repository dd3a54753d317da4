import NIOHPACK

/// What APNs reads of a request's header fields; nothing in it is judged yet.
struct APNsRequest {
    var method = ""
    var path = ""
    var authorization: String?
    var topic: String?
    var pushType: String?
    var priority: String?
    var expiration: String?
    var collapseID: String?
    var id: String?
    /// Whether a field that is there once stands there twice.
    var hasDuplicates = false

    init(_ block: HPACKHeaders) {
        for (name, value, _) in block {
            switch name {
            case ":method": method = value
            case ":path": path = value
            case "authorization": take(value, \.authorization)
            case "apns-topic": take(value, \.topic)
            case "apns-push-type": take(value, \.pushType)
            case "apns-priority": take(value, \.priority)
            case "apns-expiration": take(value, \.expiration)
            case "apns-collapse-id": take(value, \.collapseID)
            case "apns-id": take(value, \.id)
            default: break
            }
        }
    }

    private mutating func take(_ value: String, _ field: WritableKeyPath<APNsRequest, String?>) {
        if self[keyPath: field] != nil { hasDuplicates = true }
        self[keyPath: field] = value
    }

    /// The fields that say how to deliver, for who looks at what came.
    var fields: [(name: String, value: String)] {
        [
            ("apns-topic", topic), ("apns-push-type", pushType), ("apns-priority", priority),
            ("apns-expiration", expiration), ("apns-collapse-id", collapseID),
        ].compactMap { name, value in value.map { (name, $0) } }
    }
}
