/// The values of `apns-push-type`, with Apple's requirements for each.
enum APNsPushType: String, CaseIterable {
    case alert, background, location, voip, complication, fileprovider, mdm, liveactivity, pushtotalk, widgets, controls

    /// The suffix that the topic of this type has after the app's id.
    var topicSuffix: String {
        switch self {
        case .alert, .background, .mdm: ""
        case .location: ".location-query"
        case .voip: ".voip"
        case .complication: ".complication"
        case .fileprovider: ".pushkit.fileprovider"
        case .liveactivity: ".push-type.liveactivity"
        case .pushtotalk: ".voip-ptt"
        case .widgets: ".push-type.widgets"
        case .controls: ".push-type.controls"
        }
    }

    /// The largest payload in bytes.
    var payloadLimit: Int { self == .voip ? 5_120 : 4_096 }

    static let largestPayload = 5_120

    /// Returns the app that a topic of this type belongs to, or nil when the topic is for another push type.
    func app(ofTopic topic: String) -> Substring? {
        guard !topicSuffix.isEmpty else {
            let isOtherType = Self.allCases.contains { !$0.topicSuffix.isEmpty && topic.hasSuffix($0.topicSuffix) }
            return isOtherType ? nil : topic[...]
        }
        return topic.hasSuffix(topicSuffix) ? topic.dropLast(topicSuffix.count) : nil
    }
}
