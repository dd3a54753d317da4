import SocialAPI

/// The reasons why networks lack capabilities, by the version of their APIs.
///
/// The texts beside the codes are in the connectors' `accountCapabilities`.
extension Connector {
    /// Returns the reason why an account lacks a capability that `accountCapabilities(of:)` does not list.
    func reason(why capability: Capability, of account: NetworkAccount) -> CapabilityReason {
        switch (network, capability) {
        case (.twitter, .like): return .useFavorite
        case (_, .favorite): return .useLike
        case (.roost, .notifications): return .pushOnly
        case (.roost, .video), (.reddit, .video), (.vine, .location): return .notSupported
        default: break
        }
        return versionReason(why: capability, of: account) ?? .notOfferedByNetwork
    }

    private func versionReason(why capability: Capability, of account: NetworkAccount) -> CapabilityReason? {
        switch (self, capability) {
        case (let facebook as FacebookConnector, .notifications) where !facebook.isPersonal: .webhookOnly
        case (let instagram as InstagramConnector, .notifications) where !instagram.isV1: .webhookOnly
        // The v1 API has neither messages nor posts; the Graph API has no likes.
        case (let instagram as InstagramConnector, .messages), (let instagram as InstagramConnector, .reply),
            (let instagram as InstagramConnector, .photo), (let instagram as InstagramConnector, .video):
            instagram.isV1 ? .notOfferedByVersion : nil
        case (let instagram as InstagramConnector, .like): instagram.isV1 ? nil : .notOfferedByVersion
        case (let twitter as TwitterConnector, .location) where twitter.isV2(account): .notOfferedByVersion
        // Bluesky has all other capabilities, so a missing one was not granted.
        case (is BlueskyConnector, .location): nil
        case (is BlueskyConnector, _): .notGranted
        default: nil
        }
    }
}
