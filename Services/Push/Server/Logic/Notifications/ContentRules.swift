import Foundation
import PushAPI
import Wire

/// Validates a notification from an application's server; each error names the field.
enum ContentRules {
    static let maximumTitle = 1_000
    static let maximumBody = 4_000
    /// In bytes of compact JSON; no provider accepts more.
    static let maximumData = 4_096
    static let maximumCollapseKey = 64
    static let maximumTargets = 1_000
    static let lifetimes = 1...2_419_200
    static let maximumScheduleAhead: TimeInterval = 366 * 86_400

    private static let reservedNames: Set<String> = ["aps", "from", "message_type"]
    private static let reservedPrefixes = ["google.", "gcm."]

    static func text(_ text: String?, field: String, limit: Int) throws -> String? {
        guard let text, !text.isEmpty else { return nil }
        guard text.unicodeScalars.count <= limit else {
            throw APIError.invalid(field, "\"\(field)\" must have at most \(limit) characters", code: "too_long")
        }
        return text
    }

    static func data(_ data: JSONValue?) throws -> String? {
        guard let data, data != .null else { return nil }
        guard case .object(let members) = data else {
            throw APIError.invalid("data", "the field \"data\" must be an object", code: "invalid_type")
        }
        for name in members.keys.sorted()
        where reservedNames.contains(name) || reservedPrefixes.contains(where: name.hasPrefix) {
            throw APIError.invalid("data.\(name)", "push providers reserve the name \"\(name)\"")
        }
        let compact = try data.compact()
        guard compact.count <= maximumData else {
            throw APIError.invalid("data", "\"data\" must have at most \(maximumData) bytes", code: "too_long")
        }
        return members.isEmpty ? nil : String(decoding: compact, as: UTF8.self)
    }

    static func sound(_ name: String?) throws -> String? {
        guard let name else { return nil }
        guard let sound = NotificationSound.named(name) else {
            let names = NotificationSound.names.sorted().joined(separator: ", ")
            throw APIError.invalid("sound", "\"sound\" must be one of \(names)")
        }
        return sound
    }

    static func image(_ address: String?) throws -> String? {
        guard let address, !address.isEmpty else { return nil }
        guard address.utf8.count <= 2_048, let url = URL(string: address), url.scheme?.lowercased() == "https",
            url.host?.isEmpty == false
        else { throw APIError.invalid("image", "\"image\" must be an https URL of at most 2,048 bytes") }
        return address
    }

    static func collapseKey(_ key: String?) throws -> String? {
        guard let key, !key.isEmpty else { return nil }
        guard key.utf8.count <= maximumCollapseKey else {
            let message = "\"collapseKey\" must have at most \(maximumCollapseKey) bytes"
            throw APIError.invalid("collapseKey", message, code: "too_long")
        }
        return key
    }

    static func lifetime(_ seconds: Int?) throws -> TimeInterval {
        guard let seconds else { return TimeInterval(lifetimes.upperBound) }
        guard lifetimes.contains(seconds) else {
            let message = "\"ttl\" must be from \(lifetimes.lowerBound) to \(lifetimes.upperBound) seconds"
            throw APIError.invalid("ttl", message)
        }
        return TimeInterval(seconds)
    }

    static func sendTime(_ sendAt: Date?, at now: Date) throws -> Date {
        guard let sendAt, sendAt > now else { return now }
        guard sendAt <= now.addingTimeInterval(maximumScheduleAhead) else {
            throw APIError.invalid("sendAt", "\"sendAt\" must be at most 366 days ahead")
        }
        return sendAt
    }

    static func audience(_ target: NotificationDraft.Target) throws -> Audience {
        let named = [target.userIds != nil, target.deviceIds != nil, target.topic != nil].filter(\.self).count
        guard named > 0 else { throw APIError.missing("to") }
        guard named == 1 else {
            throw APIError.invalid("to", "\"to\" must have exactly one of userIds, deviceIds and topic")
        }
        if let users = target.userIds {
            let names = try names(users, field: "to.userIds")
            return .people(names.map { NotificationRequest.Recipient(userId: $0) })
        }
        if let devices = target.deviceIds { return .devices(try names(devices, field: "to.deviceIds")) }
        guard let topic = target.topic, !topic.isEmpty else { throw APIError.missing("to.topic") }
        guard topic.unicodeScalars.count <= 255 else {
            throw APIError.invalid("to.topic", "\"to.topic\" must have at most 255 characters", code: "too_long")
        }
        return .topic(topic)
    }

    private static func names(_ names: [String], field: String) throws -> [String] {
        guard !names.isEmpty else { throw APIError.missing(field) }
        guard names.count <= maximumTargets else {
            throw APIError.invalid(field, "\"\(field)\" must have at most \(maximumTargets) entries", code: "too_many")
        }
        for (index, name) in names.enumerated() where !(1...255).contains(name.unicodeScalars.count) {
            throw APIError.invalid("\(field)[\(index)]", "must have 1 to 255 characters")
        }
        return names.distinct
    }
}

extension [String] {
    /// The distinct strings in order, compared by UTF-8 bytes.
    var distinct: [String] {
        var seen: Set<[UInt8]> = []
        return filter { seen.insert(Array<UInt8>($0.utf8)).inserted }
    }
}
