/// What `apns-push-type` may be, with what Apple asks of each.
enum APNsPushType: String, CaseIterable {
    case alert, background, location, voip, complication, fileprovider, mdm, liveactivity, pushtotalk, widgets, controls

    /// What the topic of this type ends in, behind the app's id.
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

    /// Bytes of the payload, at most.
    var payloadLimit: Int { self == .voip ? 5_120 : 4_096 }

    /// Of any type, at most.
    static let largestPayload = 5_120

    /// The app that a topic of this type belongs to; nil where the topic is one of another type.
    func app(ofTopic topic: String) -> Substring? {
        guard !topicSuffix.isEmpty else {
            let isOtherType = Self.allCases.contains { !$0.topicSuffix.isEmpty && topic.hasSuffix($0.topicSuffix) }
            return isOtherType ? nil : topic[...]
        }
        return topic.hasSuffix(topicSuffix) ? topic.dropLast(topicSuffix.count) : nil
    }
}
