import NIOHPACK

/// The header fields that APNs reads, not validated yet.
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
    /// Whether a field that may occur once occurs more often.
    var hasDuplicates = false

    init(_ block: HPACKHeaders) {
        for (name, value, _) in block {
            switch name {
            case ":method": method = value
            case ":path": path = value
            case "authorization": set(value, \.authorization)
            case "apns-topic": set(value, \.topic)
            case "apns-push-type": set(value, \.pushType)
            case "apns-priority": set(value, \.priority)
            case "apns-expiration": set(value, \.expiration)
            case "apns-collapse-id": set(value, \.collapseID)
            case "apns-id": set(value, \.id)
            default: break
            }
        }
    }

    private mutating func set(_ value: String, _ field: WritableKeyPath<APNsRequest, String?>) {
        if self[keyPath: field] != nil { hasDuplicates = true }
        self[keyPath: field] = value
    }

    /// The fields that control delivery, as the sandbox shows them with the received notification.
    var fields: [(name: String, value: String)] {
        [
            ("apns-topic", topic), ("apns-push-type", pushType), ("apns-priority", priority),
            ("apns-expiration", expiration), ("apns-collapse-id", collapseID),
        ].compactMap { name, value in value.map { (name, $0) } }
    }
}
